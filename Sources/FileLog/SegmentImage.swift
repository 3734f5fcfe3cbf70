import Ledger

/// The bytes of a segment file that has certain blocks and nothing behind them, as a writer would have written them.
struct SegmentImage {
    let first: BlockNumber
    private(set) var bytes: [UInt8]
    private let headerChecksum: UInt32

    init(first: BlockNumber, identity: Digest, previous: Digest) {
        self.first = first
        let (header, bytes) = SegmentHeader.make(first: first, identity: identity, previous: previous)
        self.bytes = bytes
        headerChecksum = header.checksum
    }

    mutating func append(_ block: SealedBlock) {
        let (start, checksum) = (bytes.count, headerChecksum)
        bytes.append(contentsOf: repeatElement(0, count: RecordHeader.byteCount))
        bytes.withUnsafeMutableBytes {
            let header = UnsafeMutableRawBufferPointer(rebasing: $0[start...])
            RecordHeader.write(block, to: header, segmentChecksum: checksum, offset: start)
        }
        bytes += block.body
        bytes += block.redactable
        bytes.append(contentsOf: repeatElement(0, count: LogFormat.aligned(bytes.count) - bytes.count))
    }

    /// Makes the segment's file in `folder` have just these bytes, durably but for its name in the folder. A file that
    /// has others is left as it is until a new one is whole, durable, and was read again.
    /// - Returns: whether a file was written; `false` where it was so already.
    func place(in folder: String, _ disk: any Disk) throws(LogError) -> Bool {
        let path = folder + "/" + SegmentFile.name(first)
        if try isThere(path, disk) { return false }
        let temporary = path + SegmentFile.temporarySuffix
        do {
            try disk.removeIfThere(temporary)
            let file = OwnedFile(disk, try disk.open(temporary, .creating))
            try disk.writeAll(file.file, bytes, at: 0)
            try disk.sync(file.file)
            disk.forgetPages(file.file)
            guard try isEqual(file.file, disk) else {
                throw LogError(
                    .unknown, "segment file \(path): what was written to \(temporary) is not what is read from there")
            }
            try disk.rename(temporary, to: path)
            try disk.syncDirectory(folder)
            return true
        } catch let error as LogError {
            throw error
        } catch {
            // What was not finished only takes room, which may be what is wanting. The next run removes it too.
            try? disk.removeIfThere(temporary)
            throw LogError(.unknown, "writing segment file \(path): \(error)")
        }
    }

    /// Whether the file at `path` has these bytes; those are durable then.
    private func isThere(_ path: String, _ disk: any Disk) throws(LogError) -> Bool {
        do {
            guard let status = try disk.statusIfThere(at: path), status.kind == .file, status.byteCount == bytes.count
            else { return false }
            let file = OwnedFile(disk, try disk.open(path, .reading))
            guard try isEqual(file.file, disk) else { return false }
            try disk.sync(file.file)
            return true
        } catch  where error == .failed {
            // It cannot be read any more, so another takes its place.
            return false
        } catch {
            throw LogError(.unknown, "reading segment file \(path): \(error)")
        }
    }

    private func isEqual(_ file: DiskFile, _ disk: any Disk) throws(DiskError) -> Bool {
        guard try disk.status(file).byteCount == bytes.count else { return false }
        var offset = 0
        while offset < bytes.count {
            let part = try disk.readAll(
                file, at: offset, byteCount: min(FileLogLimits.readBytes, bytes.count - offset))
            guard !part.isEmpty, part.elementsEqual(bytes[offset..<offset + part.count]) else { return false }
            offset += part.count
        }
        return true
    }
}
