import Foundation

/// A file that could not be read or written: which, and why.
struct FileError: Error, CustomStringConvertible {
    let description: String

    /// - Parameter what: what could not be done, as "cannot be read".
    init(_ path: String, _ what: String) { description = "\(path): \(what)" }

    /// - Parameter code: the system's reason, as `errno` has it.
    init(_ path: String, _ what: String, code: Int32) {
        // A path that leads nowhere is what operators meet most; the system's own words for it are about "entries".
        let reason = code == ENOENT ? "there is no such file" : String(cString: strerror(code))
        self.init(path, "\(what): \(reason)")
    }
}

/// Reading and writing files that an operator names.
enum File {
    /// All bytes of a file, which may be a pipe.
    /// - Parameter secondsMax: how long a pipe may take to its end; `nil` for as long as it takes.
    static func read(_ path: String, bytesMax: Int, secondsMax: Int? = 10) throws(FileError) -> [UInt8] {
        // Opened like this a pipe into which nobody writes keeps nobody, and neither does reading it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileError(path, "cannot be read", code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        let end = secondsMax.map { ContinuousClock.now + .seconds($0) }
        while true {
            // Asked first: nothing can be read from a pipe whose writer is still to come, as if it had ended.
            var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = end.map { max(0, Int32(($0 - .now) / .milliseconds(1))) }
            let count = poll(&readable, 1, left ?? -1)
            if count < 0, errno == EINTR { continue }
            // What is on a disk can always be read, and is bounded by its length. A pipe that drips is not.
            if count == 0 || left == 0 {
                throw FileError(path, "cannot be read: it did not come to its end in \(secondsMax ?? 0) seconds")
            }
            let length = Foundation.read(descriptor, &part, part.count)
            if length == 0 { return bytes }
            guard length > 0 else {
                if errno == EINTR || errno == EAGAIN { continue }
                throw FileError(path, "cannot be read", code: errno)
            }
            bytes += part[..<length]
            guard bytes.count <= bytesMax else { throw FileError(path, "is larger than \(bytesMax) bytes") }
        }
    }

    /// Has every file and folder that the process makes from now on be its owner's alone, whatever mode is asked for.
    /// Before there are other threads.
    static func keepFromOthers() { umask(umask(0) | 0o077) }

    /// Writes a new file, or over an old one.
    static func write(_ bytes: [UInt8], to path: String, secret: Bool = false) throws(FileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, secret ? 0o600 : 0o644)
        guard descriptor >= 0 else { throw FileError(path, "cannot be written", code: errno) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor, name: path)
    }

    /// Reads a secret that an operator names: a file that nobody else may read, or a pipe.
    static func readSecret(_ path: String, bytesMax: Int) throws(FileError) -> [UInt8] {
        let bytes = try read(path, bytesMax: bytesMax)
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileError(path, "cannot be read", code: errno) }
        guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw FileError(
                path,
                "is a secret that others may read or change (mode \(mode)); allow it to its owner alone: chmod 600")
        }
        return bytes
    }

    /// Puts a file that others may read in the place of one that may be there, whole and durable: it is made beside it
    /// first, and where that fails the old one stays.
    static func replace(_ path: String, with bytes: [UInt8]) throws(FileError) {
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileError(path, "cannot be written", code: errno) }
        do throws(FileError) {
            defer { close(descriptor) }
            // Whatever is kept from others besides.
            guard fchmod(descriptor, 0o644) == 0 else { throw FileError(path, "cannot be written", code: errno) }
            try write(bytes, to: descriptor, name: path)
            guard fsync(descriptor) == 0 else { throw FileError(path, "cannot be written", code: errno) }
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw FileError(path, "cannot be written", code: code)
        }
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw FileError(path, "is written, but perhaps not durably", code: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw FileError(path, "is written, but perhaps not durably", code: errno) }
    }

    /// Makes what is written of a file durable, where there is one: whoever wrote it need not have done that.
    static func sync(_ path: String) throws(FileError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return }
        guard descriptor >= 0 else { throw FileError(path, "cannot be read", code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileError(path, "cannot be written", code: errno) }
    }

    /// Makes a folder, and those above it, where there is none.
    static func makeFolder(_ path: String) throws(FileError) {
        if mkdir(path, 0o777) == 0 { return }
        var code = errno
        if code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            try makeFolder(String(path[..<slash]))
            if mkdir(path, 0o777) == 0 { return }
            code = errno
        }
        var status = stat()
        if code == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
        throw FileError(path, "cannot be made a folder", code: code)
    }

    /// Writes all bytes to an open file.
    /// - Parameter name: of the file, for the error.
    static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw FileError(name, "cannot be written", code: errno)
            }
            done += count
        }
    }
}
