package import Ledger

/// Looks at every byte of a ledger's archives and of its log, as one chain: hands the blocks over in their order, and
/// tells what is not as it was written (docs: FileLog.md, "An archive").
///
/// It locks, writes and repairs nothing, and goes on behind damage, as ``LogInspection`` does.
package final class ChainInspection: LogInspector {
    package let identity: Digest?
    package let head: LogHead?
    package let base: LogHead?

    private let disk: any Disk
    private let hash: HashFunction
    private let ledgerLog: String
    private let ledger: LogInspection
    /// Those that are not begun yet, in the order of their blocks.
    private var archives: ArraySlice<ArchivedLog>
    private var current: (archive: ArchivedLog, inspection: LogInspection)?
    /// The last block that was handed over, or passed over as lost.
    private var last: LogHead?
    private var steps: [LogStep] = []

    /// - Parameters:
    ///   - archives: in any order; blocks that two of them have are handed over once.
    ///   - folder: the ledger's.
    /// - Throws: ``LogError`` where one of them is no archive of this ledger whose last block can be told, or they and
    ///   the log have different blocks where they border on each other.
    package init(
        archives: [LedgerFolder], of folder: LedgerFolder, hash: @escaping HashFunction, disk: any Disk = SystemDisk()
    ) throws(LogError) {
        self.disk = disk
        self.hash = hash
        ledgerLog = folder.log
        // Before the archives: what is archived meanwhile is in them too.
        ledger = try LogInspection(folder: folder.log, headFile: folder.headFile, hash: hash, disk: disk)
        guard let owner = ledger.identity else {
            throw LogError(.corrupt, "no segment file of \(folder.log) says whose ledger it is")
        }
        identity = owner
        head = ledger.head
        var found: [ArchivedLog] = []
        // A log that begins with block 1 needs none of them.
        for archive in ledger.base == nil ? [] : archives { found.append(try ArchivedLog(disk, archive, owner)) }
        found.sort { $0.first < $1.first }
        if let end = ledger.base { try found.checkChain(before: end, of: folder.log) }
        let end = ledger.base?.number ?? 0
        self.archives = found.filter { $0.first <= end }[...]
        base = self.archives.first.map { $0.base } ?? ledger.base
        last = base
        for archive in self.archives { steps += manifestFaults(archive) }
    }

    package func next() throws(LogError) -> LogStep? {
        while true {
            if !steps.isEmpty { return steps.removeFirst() }
            if let (archive, inspection) = current {
                guard let step = inspection.next() else {
                    current = nil
                    continue
                }
                if let step = passing(step, through: min(archive.head.number, ledger.base?.number ?? 0)) { return step }
            } else if let archive = archives.popFirst() {
                missBlocks(through: archive.base?.number ?? 0)
                let inspection = try LogInspection(
                    archive.folder.log, archive.folder.headFile, archiveOf: ledgerLog, hash, .asIfUnwritten, disk)
                current = (archive, inspection)
            } else {
                let end = ledger.base?.number ?? 0
                if (last?.number ?? 0) < end {
                    missBlocks(through: end)
                    continue
                }
                return ledger.next()
            }
        }
    }

    /// Gives a step of an archive on: without blocks that came before, and those that are the log's.
    private func passing(_ step: LogStep, through end: BlockNumber) -> LogStep? {
        let before = last?.number ?? 0
        switch step {
        case .block(let block):
            guard block.number > before, block.number <= end else { return nil }
            if let last, last.hash != .zero, block.previous != last.hash {
                steps.append(.block(block))
                self.last = block.head
                return .damage(words: "block \(block.number) does not continue the archive before it", lost: nil)
            }
            last = block.head
            return step
        case .damage(let words, let lost):
            guard let lost, lost.upperBound > before, lost.lowerBound <= end else {
                return .damage(words: words, lost: nil)
            }
            let range = max(lost.lowerBound, before + 1)...min(lost.upperBound, end)
            last = LogHead(number: range.upperBound, term: 0, hash: .zero)
            return .damage(words: words, lost: range)
        }
    }

    private func missBlocks(through end: BlockNumber) {
        let next = (last?.number ?? 0) + 1
        guard next <= end else { return }
        steps.append(
            .damage(
                words: "the blocks up to \(end) were archived, and are in none of the archives that are named",
                lost: next...end))
        last = LogHead(number: end, term: 0, hash: .zero)
    }

    // MARK: - The manifest

    /// What is wrong with an archive's manifest, or with a file beside it.
    private func manifestFaults(_ archive: ArchivedLog) -> [LogStep] {
        var faults: [String] = []
        for _ in 0..<FileLogLimits.noteLockAttemptsMax {
            faults = manifestFaultsNow(archive)
            // A name may be being erased: the file and what is said of it are not written in one step.
            if faults.isEmpty || !isBeingErased() { break }
        }
        return faults.map { .damage(words: $0, lost: nil) }
    }

    private func isBeingErased() -> Bool {
        do {
            let note = OwnedFile(disk, try disk.open(ledgerLog + "/" + RedactionNote.name, .reading))
            return try disk.isLocked(note.file)
        } catch {
            // Without the file nobody erases.
            return false
        }
    }

    private func manifestFaultsNow(_ archive: ArchivedLog) -> [String] {
        let path = archive.folder.manifest
        let manifest: ArchiveManifest
        do throws(LogError) {
            guard let found = try ArchiveManifest.read(disk, archive.folder) else {
                return ["the manifest \(path) is missing"]
            }
            manifest = found
        } catch {
            return [error.description]
        }
        var faults: [String] = []
        for first in archive.firsts {
            let file = archive.folder.log + "/" + SegmentFile.name(first)
            guard let entry = manifest.entries.first(where: { $0.first == first }) else {
                faults.append("the manifest \(path) does not name \(file)")
                continue
            }
            do {
                let end = archive.segment(of: first).end
                if try entry.last != end - 1 || entry.hash != archive.hash(before: end, disk) {
                    faults.append("the manifest \(path) names other blocks of \(file) than the archive has")
                }
                let digest = try ArchiveManifest.digest(disk, file, hash)
                if digest != entry.digest { faults.append("\(file) does not have the SHA-256 of the manifest \(path)") }
            } catch {
                faults.append("reading \(file): \(error)")
            }
        }
        let known = Set(archive.firsts)
        for entry in manifest.entries where entry.first <= archive.head.number && !known.contains(entry.first) {
            faults.append(
                "\(archive.folder.log)/\(SegmentFile.name(entry.first)), which the manifest names, is missing")
        }
        return faults
    }
}
