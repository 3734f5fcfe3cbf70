import Ledger

/// The file in a ledger's folder that says where its segments were put: for messages, and for people. What stands in an
/// archive, that says itself.
extension LedgerFolder {
    private var archivedNote: String { path + "/archived" }

    /// Where the segment file is that has an archived block; `nil` where that is not noted.
    func archivedTo(_ number: BlockNumber, _ disk: any Disk) -> String? {
        archivedLines(disk).last { line in
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let first = BlockNumber(words[0]), let last = BlockNumber(words[1]) else {
                return false
            }
            return first <= number && number <= last
        }.map { String($0.split(separator: " ", maxSplits: 2)[2]) }
    }

    /// Notes, durably when it returns, where blocks are put.
    func note(_ blocks: ClosedRange<BlockNumber>, archivedTo file: String, _ disk: any Disk) throws {
        let line = "\(blocks.lowerBound) \(blocks.upperBound) \(file)"
        let lines = archivedLines(disk)
        if lines.contains(line) { return }
        try write((lines + [line]).joined(separator: "\n"), to: archivedNote, disk)
    }

    /// None where the file cannot be read: only words would come of it.
    private func archivedLines(_ disk: any Disk) -> [String] {
        do {
            guard let status = try disk.statusIfThere(at: archivedNote), status.kind == .file else { return [] }
            let file = OwnedFile(disk, try disk.open(archivedNote, .reading))
            let bytes = try disk.readAll(file.file, at: 0, byteCount: status.byteCount)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        } catch {
            return []
        }
    }
}
