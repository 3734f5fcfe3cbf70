/// 128 bits by which one of many texts is told from the others without keeping it. The key is this process's own and
/// random (`Hasher`), so nobody can make two texts with the same.
struct Fingerprint: Hashable {
    private let first: Int
    private let second: Int

    init(_ text: String) {
        var text = text
        (first, second) = text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return (Fingerprint.hash(bytes, 1), Fingerprint.hash(bytes, 2))
        }
    }

    static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(seed)
        hasher.combine(bytes: bytes)
        return hasher.finalize()
    }
}
