import Ledger

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What is about to be put in place of a block's redactable part.
///
/// It is made durable in a file of its own before the block's bytes are overwritten, and overwritten with zeros after
/// that. A redaction that was interrupted is finished from it.
struct RedactionNote: Hashable {
    static let name = "redaction"
    static let headerBytes = 32
    static let magic: UInt64 = 0x434C_6564_6752_6564  // "CLedgRed"

    var number: BlockNumber
    /// The checksum of the header of the block's record, which no other record has.
    var recordChecksum: UInt32
    var redactable: [UInt8]

    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: RedactionNote.headerBytes) + redactable
        bytes.withUnsafeMutableBytes { target in
            target.set(RedactionNote.magic, at: 0)
            target.set(LogFormat.version, at: 8)
            target.set(UInt32(redactable.count), at: 12)
            target.set(number, at: 16)
            target.set(recordChecksum, at: 24)
            target.set(RedactionNote.checksum(UnsafeRawBufferPointer(target)), at: 28)
        }
        return bytes
    }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<28]))
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes[headerBytes...]))
        return checksum.value
    }
}

extension RedactionNote {
    init(number: BlockNumber, _ header: RecordHeader, _ redactable: [UInt8]) {
        self.init(number: number, recordChecksum: header.checksum, redactable: redactable)
    }

    /// True where the note's bytes are to stand in the record that `header` begins.
    func isOf(_ header: RecordHeader) -> Bool {
        number == header.number && recordChecksum == header.checksum && redactable.count == header.redactableBytes
    }

    /// What a note's file was found to hold.
    enum Content {
        /// There is no file, or only zeros in it.
        case none
        /// Something that is not whole: the note's writing was interrupted, so nothing else was begun.
        case torn
        case note(RedactionNote)
    }

    /// - Throws: ``LogError`` `corrupt` where the file is no note's or the note's format is not known, `unknown` where
    ///   it cannot be read now.
    static func content(_ disk: any Disk, _ path: String) throws(LogError) -> Content {
        guard let bytes = try bytes(disk, path) else { return .none }
        return try content(of: bytes, path)
    }

    /// All bytes of a note's file; `nil` where there is none.
    static func bytes(_ disk: any Disk, _ path: String) throws(LogError) -> [UInt8]? {
        let status: FileStatus?
        do { status = try disk.statusIfThere(at: path) } catch {
            throw LogError(.unknown, "reading \(path): \(error)")
        }
        guard let status else { return nil }
        guard status.kind == .file else { throw LogError(.corrupt, "\(path) is no file") }
        guard status.byteCount <= headerBytes + Int(UInt32.max) else {
            throw LogError(
                .corrupt, "\(path) has \(status.byteCount) bytes, more than the note of a redaction can have")
        }
        do {
            let file = OwnedFile(disk, try disk.open(path, .reading))
            return try disk.readAll(file.file, at: 0, byteCount: status.byteCount)
        } catch {
            throw LogError(.unknown, "reading \(path): \(error)")
        }
    }

    /// - Parameter bytes: all of the file's.
    static func content(of bytes: [UInt8], _ path: String) throws(LogError) -> Content {
        if bytes.allSatisfy({ $0 == 0 }) { return .none }
        return try bytes.withUnsafeBufferPointer { (buffer) throws(LogError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            guard bytes.count >= 12, bytes.number(at: 0) == magic else { return .torn }
            let version: UInt32 = bytes.number(at: 8)
            // A note that stops within this number: it was written over zeros.
            if version == 0 { return .torn }
            guard version == LogFormat.version else {
                throw LogError(.corrupt, "the redaction noted in \(path) \(LogFormat.unknownFormat(version))")
            }
            guard bytes.count >= headerBytes else { return .torn }
            let end = headerBytes + Int(bytes.number(at: 12) as UInt32)
            guard end <= bytes.count else { return .torn }
            let note = bytes.bytes(at: 0, count: end)
            guard checksum(note) == bytes.number(at: 28) else { return .torn }
            return .note(
                RedactionNote(
                    number: bytes.number(at: 16), recordChecksum: bytes.number(at: 24),
                    redactable: [UInt8](note[headerBytes...])))
        }
    }

    /// Locks the note's file, and makes it where there is none: for whoever erases names, or archives a segment. The
    /// lock ends when nobody has the file any more.
    /// - Returns: `nil` where another has it for longer than either takes.
    static func lock(_ disk: any Disk, _ folder: String) throws(DiskError) -> OwnedFile? {
        let file = OwnedFile(disk, try disk.open(folder + "/" + name, .writingOrCreating))
        for _ in 0..<FileLogLimits.noteLockAttemptsMax {
            if try disk.lock(file.file) { return file }
            usleep(FileLogLimits.noteLockMicroseconds)
        }
        return nil
    }

    /// Makes the note durable.
    func write(_ disk: any Disk, _ folder: String) throws(DiskError) {
        let path = folder + "/" + RedactionNote.name
        let file = try disk.open(path, .writingOrCreating)
        defer { disk.close(file) }
        try disk.writeAll(file, bytes, at: 0)
        try disk.sync(file)
        // Also where the file was there already: its making may have been interrupted before this.
        try disk.syncDirectory(folder)
    }

    /// Overwrites the note with zeros, durably; what stood in it may have to be forgotten as well.
    static func erase(_ disk: any Disk, _ folder: String) throws(DiskError) {
        let path = folder + "/" + RedactionNote.name
        guard try disk.statusIfThere(at: path) != nil else { return }
        let file = try disk.open(path, .writing)
        defer { disk.close(file) }
        try disk.writeZeros(file, from: 0, to: try disk.status(file).byteCount)
        try disk.sync(file)
    }

    /// Overwrites the block's redactable part, durably. To be repeated until it succeeds, once the note is durable.
    func carryOut(_ segment: SegmentFile, _ header: RecordHeader, at offset: Int) throws(DiskError) {
        let checksum = RecordHeader.redactableChecksum(redactable, recordChecksum).bigEndian
        try withUnsafeBytes(of: checksum) { (bytes) throws(DiskError) in
            try segment.disk.writeAll(segment.file, bytes, at: offset + RecordHeader.redactableChecksumOffset)
        }
        try segment.disk.writeAll(segment.file, redactable, at: offset + RecordHeader.byteCount + header.bodyBytes)
        try segment.disk.sync(segment.file)
    }
}
