import Foundation

/// A file that is there whole or not at all: it is written beside the old one, whose place it takes when it is
/// finished. Where that is not done, also because the command is interrupted, the old one stays as it was.
///
/// What is no file on a disk (standard output, a pipe, a device) is written to as it comes.
final class OutputFile {
    static let standardOutputName = "standard output"

    /// For errors.
    private let name: String
    private let descriptor: Int32
    private let place: Place
    private var isFinished = false

    /// Whether it is a file on a disk.
    var isFile: Bool { if case .file = place { true } else { false } }

    private enum Place {
        /// Nothing is put in its place, and it is not ours to close.
        case inherited
        case stream
        case file(temporary: String, path: String)
    }

    /// - Parameter path: `nil` for standard output. Links are followed.
    /// - Throws: ``FileError`` where nothing can be written there.
    init(_ path: String?) throws(FileError) {
        guard let path else {
            (name, descriptor, place) = (OutputFile.standardOutputName, STDOUT_FILENO, .inherited)
            return
        }
        name = path
        switch try OutputFile.target(of: path) {
        case .descriptor(let number):
            (descriptor, place) = (number, .inherited)
        case .path(let target):
            var status = stat()
            let isThere = stat(target, &status) == 0
            if !isThere, errno != ENOENT { throw FileError(path, OutputFile.refusal, code: errno) }
            if isThere, status.st_mode & S_IFMT == S_IFDIR {
                throw FileError(path, OutputFile.refusal, code: EISDIR)
            } else if isThere, status.st_mode & S_IFMT != S_IFREG {
                place = .stream
                descriptor = open(target, O_WRONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw FileError(path, OutputFile.refusal, code: errno) }
            } else {
                // A file that may not be written to is not replaced either.
                if isThere, access(target, W_OK) != 0 { throw FileError(path, OutputFile.refusal, code: errno) }
                let folder = OutputFile.folder(of: target)
                let temporary = "\(folder)/.currency-ledger-\(UUID().uuidString)"
                place = .file(temporary: temporary, path: target)
                Interruption.begin(removing: temporary)
                descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
                guard descriptor >= 0 else {
                    if errno == ENOENT { throw FileError(path, "\(OutputFile.refusal): there is no folder \(folder)") }
                    throw FileError(path, "\(OutputFile.refusal): no file can be made beside it", code: errno)
                }
                if isThere { _ = fchmod(descriptor, status.st_mode & 0o7777) }
            }
        }
    }

    private static let refusal = "cannot be written"

    deinit {
        switch place {
        case .inherited: break
        case .stream: close(descriptor)
        case .file(let temporary, _):
            close(descriptor)
            if isFinished { return }
            unlink(temporary)
            Interruption.end()
        }
    }

    func write(_ bytes: [UInt8]) throws(FileError) { try File.write(bytes, to: descriptor, name: name) }

    /// Has all that was written on the disk, still beside the old file. What is no file is passed over.
    /// - Throws: ``FileError`` where the disk did not take all of it.
    func sync() throws(FileError) {
        guard case .file = place else { return }
        guard fsync(descriptor) == 0 else { throw FileError(name, OutputFile.refusal, code: errno) }
    }

    /// Puts the file in its place, durably.
    func finish() throws(FileError) {
        guard case .file(let temporary, let path) = place else { return }
        try sync()
        guard rename(temporary, path) == 0 else { throw FileError(name, OutputFile.refusal, code: errno) }
        isFinished = true
        Interruption.end()
        let folder = open(OutputFile.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw FileError(name, "is written, but perhaps not durably", code: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw FileError(name, "is written, but perhaps not durably", code: errno) }
    }

    // MARK: Where a path leads

    private enum Target {
        case path(String)
        /// One that this process has open: what `/dev/stdout` leads to.
        case descriptor(Int32)
    }

    /// Follows links to where a file is, or would be made.
    private static func target(of path: String) throws(FileError) -> Target {
        // path_resolution(7): more than 40 links are a loop.
        var path = path
        for _ in 0..<40 {
            let folder = folder(of: path)
            let last = path.split(separator: "/").last.map(String.init) ?? path
            if let real = real(folder), real == "/proc/\(getpid())/fd", let number = Int32(last) {
                guard fcntl(number, F_GETFD) != -1 else { throw FileError(path, refusal, code: errno) }
                return .descriptor(number)
            }
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
                return .path(path)
            }
            path = link.hasPrefix("/") ? link : "\(folder)/\(link)"
        }
        throw FileError(path, refusal, code: ELOOP)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

/// What an interrupted command removes before it ends.
private enum Interruption {
    /// There while the file is. Only the command's main task sets it, and a signal handler reads it.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    /// The signals that end the command here. Only the command's main task uses it.
    nonisolated(unsafe) private static var endings: [Int32] = []

    static func begin(removing path: String) {
        Interruption.path = strdup(path)
        for ending in [SIGINT, SIGTERM, SIGHUP] {
            let before = signal(ending) { number in
                // Only what signal-safety(7) allows.
                if let path = Interruption.path { unlink(path) }
                signal(number, SIG_DFL)
                raise(number)
            }
            if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                // Whoever started the command wants it to go on.
                signal(ending, SIG_IGN)
            } else {
                endings.append(ending)
            }
        }
    }

    static func end() {
        for ending in endings { signal(ending, SIG_DFL) }
        endings = []
        free(path)
        path = nil
    }
}
