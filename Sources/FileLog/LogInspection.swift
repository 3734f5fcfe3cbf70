package import Ledger

/// Looks at every byte of a log's files: hands the blocks over in their order, and tells what is not as it was written
/// (docs: FileLog.md, "Inspection").
///
/// It locks, writes and repairs nothing, and goes on behind damage. Beside a writer it ends with the block that was
/// acknowledged last when it began. It needs memory for a step of reading or a block, whichever is larger. One thread
/// at a time uses it.
///
/// What holds between two steps:
/// 1. Each block before `number` was handed over, or is in the range of one damage, once.
/// 2. `number` is not behind the last block that belongs into the open segment by more than one.
/// 3. `previous` is the hash of the block before `number`, or `nil` where that is not known.
package final class LogInspection: LogInspector {
    /// Whose ledger it is: as the first segment says whose header is whole, or the head file where none is. All other
    /// files were compared with it; block 1 is left to the caller.
    package let identity: Digest?
    /// The last block that was acknowledged when the inspection began, as the head file says.
    package let head: LogHead?
    /// The last block that was archived, before those that are handed over; `nil` where these begin with block 1.
    package let base: LogHead?
    /// Whether a writer had the log open when the inspection began.
    package let isWritten: Bool

    let mode: Mode
    let folder: String
    let headPath: String
    let disk: any Disk
    let hash: HashFunction
    /// What the whole slots of the head file name; block 0 where nothing was acknowledged.
    let slots: [LogHead]
    /// The newest of them; `nil` where the head file does not say.
    let acknowledged: BlockNumber?
    /// The head file's bytes when the inspection began.
    private let headBytes: [UInt8]
    /// A redaction that was begun and is not finished.
    let note: RedactionNote?
    /// Where the note of a redaction stands: an archive's names are erased by the ledger's writer.
    let notePath: String
    var isNotedBlockMet = false

    /// What is behind this block is a writer's, and not looked at.
    var limit: BlockNumber?
    /// The first blocks of the segments that are not opened yet.
    var firsts: ArraySlice<BlockNumber>
    var segment: SegmentInspection?
    var number: BlockNumber
    var previous: Digest?
    private var steps: [LogStep] = []
    private var isFinished = false

    /// What counts as a writer's.
    package enum Mode: Hashable, Sendable {
        /// Whether a writer has the log open is asked.
        case asFound
        /// Nobody writes: the caller has the writer's lock itself.
        case asIfUnwritten
        /// What is behind the head is a writer's: the files were copied while one had them open.
        case asIfWritten
    }

    /// - Parameters:
    ///   - folder: the log's own.
    ///   - headFile: where the head's number and hash are kept, outside of the log.
    /// - Throws: ``LogError`` `unknown` where the folder cannot be listed. Anything else is a step.
    package convenience init(
        folder: String, headFile: String, hash: @escaping HashFunction, mode: Mode = .asFound,
        disk: any Disk = SystemDisk()
    ) throws(LogError) {
        try self.init(folder, headFile, archiveOf: nil, hash, mode, disk)
    }

    /// - Parameter ledger: the log's folder of the ledger of which this is an archive; `nil` where it is none.
    init(
        _ folder: String, _ headFile: String, archiveOf ledger: String?, _ hash: @escaping HashFunction, _ mode: Mode,
        _ disk: any Disk
    ) throws(LogError) {
        self.mode = mode
        let wasWritten = mode.isWritten(disk, folder)
        let headFindings = HeadFile.Findings(disk, headFile)
        notePath = (ledger ?? folder) + "/" + RedactionNote.name
        let noteFindings = RedactionNote.Findings(disk, notePath)
        // Before the segments: those that it says were archived may be gone.
        var baseFault: LogError?
        var base: LogHead?
        do throws(LogError) {
            base = try LogBase.read(disk, folder, nil)
        } catch {
            baseFault = error
        }
        // After the head file: they have every block that it names.
        let listed = try LogScan.listed(disk, folder).filter { $0 > base?.number ?? 0 }
        isWritten = wasWritten || mode.isWritten(disk, folder)

        let firsts = listed.prefix { $0 <= FileLogLimits.blockNumberMax }
        let owner =
            LogInspection.identity(disk, folder, firsts) ?? headFindings.heads.first?.identity
        if baseFault == nil {
            do throws(LogError) { _ = try LogBase.read(disk, folder, owner) } catch { baseFault = error }
        }
        let slots = headFindings.heads.filter { $0.identity == owner }.map(\.head)
        let newest = slots.max { $0.number < $1.number }
        identity = owner
        head = newest.flatMap { $0.number > 0 ? $0 : nil }
        self.folder = folder
        headPath = headFile
        self.disk = disk
        self.hash = hash
        self.slots = slots
        acknowledged = newest?.number
        headBytes = headFindings.bytes
        self.base = base
        number = (base?.number ?? 0) + 1
        previous = base?.hash ?? .zero
        // Beside a writer a note comes and goes.
        note = isWritten || ledger != nil ? nil : noteFindings.note
        limit = isWritten ? newest?.number : nil
        self.firsts = firsts

        var faults = headFindings.faults
        // A copy may have one that was being stored into; there are two, so that one is whole.
        if mode != .asIfWritten || headFindings.heads.isEmpty { faults += headFindings.tornSlots }
        if slots.count < headFindings.heads.count {
            faults.append("the head file \(headFile) belongs to another ledger: its bundle id or environment differs")
        }
        faults += LogInspection.lockFaults(disk, folder + "/" + FileLog.lockName)
        if !isWritten, ledger == nil { faults += noteFindings.faults }
        if let baseFault { faults.append(baseFault.description) }
        faults += listed[firsts.endIndex...].map {
            "segment file \(folder)/\(SegmentFile.name($0)) is damaged: no ledger has so many blocks"
        }
        if firsts.isEmpty { faults.append("the log \(folder) has no segment file") }
        for fault in faults { damage(fault) }
    }

    /// Whose ledger the log in `folder` is, as its first segment says whose header is whole; `nil` where none is.
    /// - Throws: ``LogError`` `unknown` where the folder cannot be listed.
    package static func identity(folder: String) throws(LogError) -> Digest? { try identity(SystemDisk(), folder) }

    /// Whose ledger the log in `folder` is, as its first segment says whose header is whole.
    static func identity(_ disk: any Disk, _ folder: String) throws(LogError) -> Digest? {
        identity(disk, folder, try LogScan.listed(disk, folder)[...])
    }

    private static func identity(_ disk: any Disk, _ folder: String, _ firsts: ArraySlice<BlockNumber>) -> Digest? {
        for first in firsts {
            do {
                let file = OwnedFile(disk, try disk.open(folder + "/" + SegmentFile.name(first), .reading))
                let bytes = try disk.readAll(file.file, at: 0, byteCount: SegmentHeader.byteCount)
                return try SegmentHeader(bytes).identity
            } catch {
                // It is told when the segment is inspected.
                continue
            }
        }
        return nil
    }

    private static func lockFaults(_ disk: any Disk, _ path: String) -> [String] {
        do {
            // Each writer makes a missing one.
            guard let status = try disk.statusIfThere(at: path) else { return [] }
            guard status.kind == .file else { return ["the lock file \(path) is no file"] }
            return status.byteCount == 0 ? [] : ["the lock file \(path) has \(status.byteCount) bytes; it has none"]
        } catch {
            return ["asking for the size of the lock file \(path): \(error)"]
        }
    }

    /// What comes next; `nil` at the end.
    package func next() -> LogStep? {
        while steps.isEmpty, !isFinished {
            if let segment { inspectRecord(segment) } else { openSegment() }
        }
        return steps.isEmpty ? nil : steps.removeFirst()
    }

    // MARK: - What is told

    func damage(_ words: String) { steps.append(.damage(words: words, lost: nil)) }

    /// The blocks from the next one up to `last` cannot be handed over; those behind the limit are not looked at.
    func lose(through last: BlockNumber, _ words: String) {
        let last = min(last, limit ?? last)
        steps.append(.damage(words: words, lost: number...last))
        number = last + 1
        previous = nil
    }

    func handOver(_ block: SealedBlock) { steps.append(.block(block)) }

    /// The blocks from the next one up to `last`, for words.
    func blocks(through last: BlockNumber) -> String {
        number == last ? "block \(number)" : "blocks \(number) to \(last)"
    }

    // MARK: - The end

    /// True where a writer opened the log since the inspection began: what is behind the blocks may be half written.
    var hasWriterCome: Bool {
        mode.isWritten(disk, folder) || HeadFile.Findings(disk, headPath).bytes != headBytes
    }

    func finish() {
        segment = nil
        firsts = []
        isFinished = true
        if let note, !isNotedBlockMet, note.number < 1 || note.number >= number {
            damage(
                "the redaction noted in \(notePath) is of block \(note.number); the log has no "
                    + "such block")
        }
        guard let acknowledged, number <= acknowledged else { return }
        lose(
            through: acknowledged,
            "the log went back in time: block \(acknowledged) was acknowledged, as the head file \(headPath) says, "
                + "but \(folder) ends before block \(number)")
    }
}

extension LogInspection.Mode {
    /// Whether a writer has the log in `folder` open.
    func isWritten(_ disk: any Disk, _ folder: String) -> Bool {
        switch self {
        case .asFound: FileLog.isWritten(disk, folder)
        case .asIfUnwritten: false
        case .asIfWritten: true
        }
    }
}
