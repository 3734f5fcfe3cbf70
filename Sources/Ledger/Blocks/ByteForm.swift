/// Bytes in the making of a canonical or stored form: memory that is written to directly, which for forms of many
/// small fields takes a third of an array's time.
struct ByteForm: ~Copyable {
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0
    /// Whether the memory is the form's own, because what it was lent did not suffice.
    private var isOwner = false

    /// - Parameter memory: must outlive the form.
    private init(lent memory: UnsafeMutableRawBufferPointer) {
        guard let start = memory.baseAddress else { preconditionFailure("a form is made in memory that is there") }
        self.start = start
        capacity = memory.count
    }

    /// Gives `body` a form in memory of the stack, for forms that are hashed or copied at once: most need no more.
    static func make<Result>(_ body: (consuming ByteForm) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { body(ByteForm(lent: $0)) }
    }

    deinit { if isOwner { start.deallocate() } }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Their copy.
    var bytes: [UInt8] { withBytes { [UInt8]($0) } }

    func digest(_ hash: HashFunction) -> Digest { withBytes { Digest(of: $0, hash) } }

    mutating func add(byte: UInt8) {
        reserve(1)
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// 8 bytes, big-endian, two's complement.
    mutating func add(_ number: Int64) {
        reserve(8)
        start.storeBytes(of: number.bigEndian, toByteOffset: count, as: Int64.self)
        count += 8
    }

    /// 4 bytes, big-endian.
    mutating func add(length: Int) {
        reserve(4)
        start.storeBytes(of: UInt32(length).bigEndian, toByteOffset: count, as: UInt32.self)
        count += 4
    }

    mutating func add(varint value: UInt64) {
        reserve(LEB128.byteCountMax)
        count += LEB128.write(value, to: start + count)
    }

    mutating func add(raw bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func add(raw bytes: [UInt8]) { bytes.withUnsafeBytes { add(raw: $0) } }

    /// A text's UTF-8.
    mutating func add(raw text: String) {
        var text = text
        text.withUTF8 { add(raw: UnsafeRawBufferPointer($0)) }
    }

    private mutating func reserve(_ room: Int) {
        if capacity - count >= room { return }
        capacity = max(capacity * 2, count + room)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        larger.copyMemory(from: start, byteCount: count)
        if isOwner { start.deallocate() }
        start = larger
        isOwner = true
    }
}
