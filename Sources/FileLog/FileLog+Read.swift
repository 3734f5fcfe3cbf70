package import Ledger

extension FileLog {
    package func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock] {
        var blocks: [SealedBlock] = []
        var bytes = 0
        var next = max(0, number) + 1
        while let place = try catalog.place(of: next) {
            let segment = place.segment
            var offset = place.offset
            let step = min(FileLogLimits.readBytes, max(bytesMax - bytes, 0) + RecordHeader.byteCount)
            var window = ReadWindow(segment, stepBytes: step, end: place.end)
            while next <= place.last {
                // What does not fit is not read: the header says how large the block is.
                if !blocks.isEmpty {
                    let size = try blockBytes(next, segment, at: offset, &window)
                    guard bytes + size <= bytesMax else { return blocks }
                }
                let (block, recordBytes) = try whole(next, segment, at: offset, &window)
                let previous = blocks.last?.hash ?? (next == segment.header.first ? segment.header.previous : nil)
                guard block.number == next, previous == nil || block.previous == previous else {
                    throw segment.corrupt(next, "it does not continue the block before it")
                }
                bytes += block.byteCount
                blocks.append(block)
                offset += recordBytes
                next += 1
            }
        }
        return blocks
    }

    private func blockBytes(
        _ number: BlockNumber, _ segment: SegmentFile, at offset: Int, _ window: inout ReadWindow
    ) throws(LogError) -> Int {
        // A damaged one is named by who reads it whole.
        try segment.recordHeader(number, at: offset, &window).map { $0.bodyBytes + $0.redactableBytes } ?? 0
    }

    private func whole(
        _ number: BlockNumber, _ segment: SegmentFile, at offset: Int, _ window: inout ReadWindow
    ) throws(LogError) -> (SealedBlock, recordBytes: Int) {
        do {
            switch try segment.record(at: offset, &window, hash) {
            case .whole(let block, let byteCount): return (block, byteCount)
            case .noHeader: throw segment.corrupt(number, "its header is damaged")
            case .bodyDamaged: throw segment.corrupt(number, "its body does not have the hash of its header")
            case .redactableDamaged: break
            }
            window.forget()
            return try redacting.withLock { (_) throws in try redacted(number, segment, at: offset, &window) }
        } catch let error as DiskError {
            throw segment.unread(number, error)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "reading block \(number): \(error)")
        }
    }

    /// The block again, while nobody of this process redacts. Another process may: its note says what will stand
    /// there.
    private func redacted(
        _ number: BlockNumber, _ segment: SegmentFile, at offset: Int, _ window: inout ReadWindow
    ) throws -> (SealedBlock, recordBytes: Int) {
        let note = try RedactionNote.content(disk, notePath)
        switch try segment.record(at: offset, &window, hash) {
        case .whole(let block, let byteCount): return (block, byteCount)
        case .noHeader, .bodyDamaged: break
        case .redactableDamaged(let header, var block):
            guard case .note(let note) = note, note.isOf(header) else { break }
            block.redactable = note.redactable
            return (block, header.recordBytes)
        }
        throw segment.corrupt(number, "its redactable part does not have its checksum")
    }
}
