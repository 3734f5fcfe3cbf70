import Ledger

extension LogInspection {
    /// Opens the next segment, or finishes where there is none to be looked at.
    func openSegment() {
        guard let first = firsts.first, first <= limit ?? first else { return finish() }
        firsts.removeFirst()
        let path = folder + "/" + SegmentFile.name(first)
        if first > number { missSegments(before: first, path) }
        let last = firsts.first.map { $0 - 1 }
        // What the header should be: without it, its checksum may be the one that the records' checksums need.
        let (header, _) = SegmentHeader.make(
            first: first, identity: identity ?? .zero, previous: previous ?? .zero)
        let file: SegmentFile
        var byteCount: Int
        do {
            let kind = try disk.status(at: path).kind
            guard kind == .file else { return loseSegment(through: last, "segment file \(path) is no file") }
            file = SegmentFile(disk, try disk.open(path, .reading), path, header)
            byteCount = try disk.status(file.file).byteCount
        } catch {
            return loseSegment(through: last, "opening segment file \(path): \(error)")
        }
        if byteCount > FileLogLimits.segmentBytesMax {
            damage(
                "segment file \(path) has \(byteCount) bytes; none has more than \(FileLogLimits.segmentBytesMax)")
            byteCount = FileLogLimits.segmentBytesMax
        }
        guard let checksums = headerChecksums(file, first, last) else { return }
        segment = SegmentInspection(file, first, last: last, byteCount: byteCount, headerChecksums: checksums)
    }

    private func missSegments(before first: BlockNumber, _ path: String) {
        let missing = folder + "/" + SegmentFile.name(number)
        let words =
            number == (base?.number ?? 0) + 1
            ? "segment file \(missing), which begins with block \(number), is missing"
            : "\(blocks(through: first - 1)): not in a segment file before \(path); \(missing) is missing, or the "
                + "one before it lost its end"
        lose(through: first - 1, words)
    }

    /// Nothing of a segment can be handed over.
    /// - Parameter last: the last block that belongs into it; `nil` in the last segment.
    private func loseSegment(through last: BlockNumber?, _ words: String) {
        let known = last ?? acknowledged ?? 0
        if known >= number {
            lose(through: known, words)
        } else {
            damage(words)
        }
    }

    /// Checks a segment's header, and gives what its checksum is or may have been; `nil` where the segment does not
    /// belong here.
    private func headerChecksums(
        _ file: SegmentFile, _ first: BlockNumber, _ last: BlockNumber?
    ) -> [UInt32]? {
        let bytes: [UInt8]
        do { bytes = try disk.readAll(file.file, at: 0, byteCount: SegmentHeader.byteCount) } catch {
            damage("segment file \(file.path), which begins with block \(first): its header cannot be read: \(error)")
            return [file.header.checksum]
        }
        let header: SegmentHeader
        do { header = try SegmentFile.header(bytes, file.path, first) } catch {
            damage(error.description)
            guard bytes.count == SegmentHeader.byteCount else { return [file.header.checksum] }
            return bytes.withUnsafeBytes {
                [SegmentHeader.storedChecksum($0), SegmentHeader.checksum($0), file.header.checksum]
            }
        }
        do { try SegmentFile.check(header, file.path, first, identity ?? header.identity) } catch {
            loseSegment(through: last, error.description)
            return nil
        }
        if let previous, previous != header.previous {
            damage("segment file \(file.path): its header does not continue block \(first - 1)")
        }
        previous = header.previous
        return [header.checksum]
    }
}
