import Ledger

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The tables' files as a whole: the database, and what stands beside it.
extension DatabaseFile {
    static let setAsideSuffix = ".set-aside"
    /// Of what SQLite opens by itself.
    static let ownSuffixes = ["-shm", "-journal", WriteAheadLog.suffix]
    static let suffixes = ownSuffixes + [PageSums.suffix, CheckpointMark.suffix, ""]

    static func remove(at path: String) throws {
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT {
            throw StoreError("\(path + suffix) cannot be deleted: \(String(cString: strerror(errno)))")
        }
    }

    /// Without the index of the write-ahead log, which SQLite makes from that.
    static func copy(at path: String, to copy: String) throws {
        if try isAbsentOrEmpty(path) { return }
        for suffix in ["", WriteAheadLog.suffix, CheckpointMark.suffix, PageSums.suffix] {
            do { try copyFile(path + suffix, to: copy + suffix) } catch {
                throw StoreError("copying \(path + suffix) to \(copy + suffix): \(error)")
            }
        }
    }

    /// The file itself goes last: what stands beside a file that is not there is deleted before one is made. A file
    /// that does not say that it is one of ours is kept under another name: its header may be damaged, but it may also
    /// be somebody else's.
    static func move(from old: String, to new: String) throws {
        if try !isAbsentOrEmpty(new), try !isOurs(firstBytes(of: new)) {
            guard rename(new, new + setAsideSuffix) == 0 else {
                throw StoreError("\(new) cannot be set aside: \(String(cString: strerror(errno)))")
            }
        }
        try remove(at: new)
        for suffix in suffixes where rename(old + suffix, new + suffix) != 0 && errno != ENOENT {
            throw StoreError("\(old + suffix) cannot be moved: \(String(cString: strerror(errno)))")
        }
    }
}

private struct SystemError: Error, CustomStringConvertible {
    let description = String(cString: strerror(errno))
}

/// Copies a file, where there is one.
private func copyFile(_ path: String, to copy: String) throws {
    let source = PlainFile.descriptor(of: path, O_RDONLY)
    if source < 0 && errno == ENOENT { return }
    guard source >= 0 else { throw SystemError() }
    defer { close(source) }
    let target = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw SystemError() }
    defer { close(target) }
    try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { memory in
        while true {
            let count = read(source, memory.baseAddress, memory.count)
            if count == 0 { return }
            guard count > 0 else { throw SystemError() }
            var written = 0
            while written < count {
                let step = write(target, memory.baseAddress.map { $0 + written }, count - written)
                guard step > 0 else { throw SystemError() }
                written += step
            }
        }
    }
}
