import FileLog

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Files in memory, which are read only.
final class MemoryDisk: Disk {
    /// By path, and the paths in their order: a file's descriptor is its place.
    private let files: [String: [UInt8]]
    private let paths: [String]

    init(_ files: [String: [UInt8]]) {
        self.files = files
        paths = files.keys.sorted()
    }

    private func bytes(_ file: DiskFile) -> [UInt8] { files[paths[Int(file.descriptor)]] ?? [] }

    func open(_ path: String, _ access: DiskAccess) throws(DiskError) -> DiskFile {
        guard access == .reading else { throw .readOnly }
        guard let place = paths.firstIndex(of: path) else { throw .missing }
        return DiskFile(descriptor: Int32(place))
    }

    func close(_ file: DiskFile) {}

    func read(_ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
        let part = bytes(file).dropFirst(offset).prefix(target.count)
        target.copyBytes(from: part)
        return part.count
    }

    func status(_ file: DiskFile) throws(DiskError) -> FileStatus {
        FileStatus(
            kind: .file, device: 1, inode: UInt64(file.descriptor), links: 1, byteCount: bytes(file).count)
    }

    func status(at path: String) throws(DiskError) -> FileStatus { try status(try open(path, .reading)) }

    func list(_ path: String) throws(DiskError) -> [String] {
        paths.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.count + 1)) }
    }

    func isLocked(_ file: DiskFile) throws(DiskError) -> Bool { false }
    func lock(_ file: DiskFile) throws(DiskError) -> Bool { true }
    func unlock(_ file: DiskFile) {}
    func forgetPages(_ file: DiskFile) {}

    // MARK: What would change something

    func write(_ file: DiskFile, _ parts: UnsafeBufferPointer<iovec>, at offset: Int) throws(DiskError) -> Int {
        throw .readOnly
    }

    func map(_ file: DiskFile, byteCount: Int) throws(DiskError) -> UnsafeMutableRawPointer { throw .readOnly }
    func unmap(_ memory: UnsafeMutableRawPointer, byteCount: Int) {}
    func sync(_ file: DiskFile) throws(DiskError) { throw .readOnly }
    func rename(_ path: String, to newPath: String) throws(DiskError) { throw .readOnly }
    func exchange(_ path: String, with other: String) throws(DiskError) { throw .readOnly }
    func remove(_ path: String) throws(DiskError) { throw .readOnly }
    func makeDirectory(_ path: String) throws(DiskError) { throw .readOnly }
    func removeDirectory(_ path: String) throws(DiskError) { throw .readOnly }
    func syncDirectory(_ path: String) throws(DiskError) { throw .readOnly }
}
