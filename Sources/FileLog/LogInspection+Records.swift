import Ledger

extension LogInspection {
    /// Inspects what stands where the next block's record begins.
    func inspectRecord(_ segment: SegmentInspection) {
        noticeWriter()
        if let limit, number > limit { return finish() }
        if let last = segment.last, number > last { return leave(segment) }
        let header: RecordHeader?
        do { header = try segment.recordHeader(at: segment.offset) } catch {
            return skipDamage(segment, "its header cannot be read: \(error)")
        }
        guard let header else { return skipDamage(segment, "its header is damaged", mayBeTorn: true) }
        guard header.format == LogFormat.version else {
            return skipDamage(segment, "its record \(LogFormat.unknownFormat(header.format))")
        }
        if header.number != number { return inspectOtherBlock(header, segment) }
        checkChain(header, segment)
        inspectRecord(header, segment)
    }

    /// A writer that came since the inspection began appends behind what was acknowledged then.
    private func noticeWriter() {
        guard limit == nil, let acknowledged, number - 1 == acknowledged else { return }
        if mode.isWritten(disk, folder) { limit = acknowledged }
    }

    private func words(_ segment: SegmentInspection, _ words: String) -> String {
        segment.file.corrupt(number, words).description
    }

    /// Another block's record stands where the next one belongs.
    private func inspectOtherBlock(_ header: RecordHeader, _ segment: SegmentInspection) {
        let words = words(segment, "block \(header.number) stands in its place")
        if header.number > number, header.number <= segment.lastBlock(at: segment.offset) {
            lose(through: header.number - 1, words)
        } else {
            lose(through: number, words)
            segment.offset += header.recordBytes
        }
    }

    /// Compares a record's header with the block before, the head file and the note of a redaction.
    private func checkChain(_ header: RecordHeader, _ segment: SegmentInspection) {
        if let previous, previous != header.previous {
            damage(words(segment, "it does not continue the block before it"))
        }
        if slots.contains(where: { $0.number == number && $0 != header.head }) {
            damage(words(segment, "it is not the block that was acknowledged, as the head file beside the log says"))
        }
        guard let note, note.number == number else { return }
        isNotedBlockMet = true
        if !note.isOf(header) { damage(words(segment, "it is not the block whose redaction was begun")) }
    }

    private func inspectRecord(_ header: RecordHeader, _ segment: SegmentInspection) {
        let found: (record: SegmentFile.Record, isPaddingZero: Bool)?
        do { found = try segment.record(header, hash) } catch {
            lose(through: number, words(segment, "it cannot be read: \(error)"))
            return pass(header, segment)
        }
        let isPaddingZero = found?.isPaddingZero ?? true
        let fault: String
        var damaged: SealedBlock?
        switch found?.record {
        case .whole(let block, _):
            return handOver(block, header, segment, isPaddingZero: isPaddingZero)
        case .redactableDamaged(_, let block):
            if let block = redacted(segment, header) {
                return handOver(block, header, segment, isPaddingZero: isPaddingZero)
            }
            damaged = block
            fault = "its redactable part does not have its checksum"
        case .noHeader, .bodyDamaged: fault = "its body does not have the hash of its header"
        case nil: fault = "it reaches beyond the end of the file"
        }
        if segment.last == nil, number > acknowledged ?? 0 {
            // It may be what a crash left of the last write, if nothing was written behind it.
            let rest = segment.rest()
            if rest.header == nil { return endLog(segment, rest, fault, mayBeTorn: true) }
        }
        if let damaged {
            damage(words(segment, fault))
            handOver(damaged, header, segment, isPaddingZero: isPaddingZero)
        } else {
            lose(through: number, words(segment, fault))
            pass(header, segment)
        }
    }

    private func handOver(
        _ block: SealedBlock, _ header: RecordHeader, _ segment: SegmentInspection, isPaddingZero: Bool
    ) {
        if !isPaddingZero { damage(words(segment, "the bytes behind it, up to a multiple of 8, are not 0")) }
        handOver(block)
        pass(header, segment)
    }

    /// Goes on behind a record whose header is whole.
    private func pass(_ header: RecordHeader, _ segment: SegmentInspection) {
        number = header.number + 1
        previous = header.hash
        segment.offset += header.recordBytes
    }

    /// A block whose redactable part does not have its checksum, as a redaction will have made it, or has made it in
    /// the meantime; `nil` where there is none.
    private func redacted(_ segment: SegmentInspection, _ header: RecordHeader) -> SealedBlock? {
        for _ in 0..<FileLogLimits.readingAttemptsMax {
            let note: RedactionNote.Content
            let found: (record: SegmentFile.Record, isPaddingZero: Bool)?
            do {
                note = try RedactionNote.content(disk, notePath)
                segment.forget()
                found = try segment.record(header, hash)
            } catch {
                return nil
            }
            switch found?.record {
            case .whole(let block, _): return block
            case .redactableDamaged(let header, var block):
                guard case .note(let note) = note, note.isOf(header) else { continue }
                block.redactable = note.redactable
                return block
            case .noHeader, .bodyDamaged, nil: return nil
            }
        }
        return nil
    }

    // MARK: - Where no record stands

    /// No whole header stands where the next block's should: goes on at the next one, or ends the segment.
    /// - Parameter mayBeTorn: whether it may be what a crash left of the last write.
    private func skipDamage(_ segment: SegmentInspection, _ fault: String, mayBeTorn: Bool = false) {
        let rest = segment.rest()
        if let (offset, header) = rest.header {
            let words = words(segment, fault + "; the record of block \(header.number) stands behind it")
            if header.number > number, header.number <= segment.lastBlock(at: offset) {
                lose(through: header.number - 1, words)
            } else {
                damage(words)
            }
            segment.offset = offset
            return
        }
        guard let last = segment.last else { return endLog(segment, rest, fault, mayBeTorn: mayBeTorn) }
        self.segment = nil
        // That blocks are missing behind the last record is told when the next segment is opened.
        if rest.isZero, rest.error == nil { return }
        lose(through: last, words(segment, fault + "; no record stands behind it"))
    }

    /// All blocks of a segment before the last were met: the rest of it must be zeros.
    private func leave(_ segment: SegmentInspection) {
        self.segment = nil
        let rest = segment.rest()
        let place = "segment file \(segment.file.path): the bytes behind its last record"
        if let error = rest.error { damage("\(place) cannot be read: \(error)") }
        if !rest.isZero { damage("\(place) are not all 0") }
    }

    /// Tells what stands behind the last whole record of the log, by the rules of a torn tail.
    private func endLog(
        _ segment: SegmentInspection, _ rest: SegmentInspection.Rest, _ fault: String, mayBeTorn: Bool
    ) {
        defer { finish() }
        let isZero = rest.isZero && rest.error == nil
        if let acknowledged, number <= acknowledged {
            // Of zeros is told that the log went back in time.
            if isZero { return }
            let words = words(segment, fault + "; that it was acknowledged is what the head file beside the log says")
            return lose(through: acknowledged, words)
        }
        if isZero || isWritten || hasWriterCome { return }
        let path = segment.file.path
        if let error = rest.error {
            damage("segment file \(path): what stands behind block \(number - 1) cannot be read: \(error)")
        } else if mayBeTorn {
            let doubt = acknowledged == nil ? "; whether it was acknowledged, no head file says" : ""
            damage(
                "segment file \(path): what stands behind block \(number - 1) is no whole block: its writing was "
                    + "interrupted by a crash, and the next start cuts it off, or it is damaged\(doubt)")
        } else {
            lose(through: number, words(segment, fault))
        }
    }
}
