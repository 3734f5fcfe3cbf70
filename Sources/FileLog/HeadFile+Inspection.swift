import Ledger

extension HeadFile {
    /// What an inspection finds in a head file.
    struct Findings {
        /// As they were read; none where the file is missing or cannot be read.
        private(set) var bytes: [UInt8] = []
        /// What the whole slots say, and of whose ledger.
        private(set) var heads: [(head: LogHead, identity: Digest)] = []
        /// What is not as a writer leaves it.
        private(set) var faults: [String] = []
        /// Slots that do not count.
        private(set) var tornSlots: [String] = []

        /// Reads the file at `path`, again where a writer may have stored into it at the same moment.
        init(_ disk: any Disk, _ path: String) {
            for _ in 0..<FileLogLimits.readingAttemptsMax {
                self = Findings(readingOnce: disk, path, name: "the head file \(path)")
                if faults.isEmpty && tornSlots.isEmpty { return }
            }
        }

        /// - Parameter name: what the file is called in words.
        init(readingOnce disk: any Disk, _ path: String, name: String) {
            do {
                guard let status = try disk.statusIfThere(at: path) else {
                    faults.append("\(name) is missing: that the log lost its end would not be noticed")
                    return
                }
                guard status.kind == .file else {
                    faults.append("\(name) is no file")
                    return
                }
                if status.byteCount != HeadFile.byteCount { faults.append("\(name) has \(status.byteCount) bytes") }
                let file = OwnedFile(disk, try disk.open(path, .reading))
                bytes = try disk.readAll(file.file, at: 0, byteCount: HeadFile.byteCount)
            } catch {
                faults.append("reading \(name): \(error)")
                return
            }
            for offset in HeadFile.slotOffsets { addSlot(at: offset, name) }
            if heads.count > 1, heads[0].head.number == heads[1].head.number {
                faults.append("both slots of \(name) name block \(heads[0].head.number)")
            }
            let isSlot = { index in HeadFile.slotOffsets.contains { $0..<$0 + HeadFile.slotBytes ~= index } }
            if bytes.indices.contains(where: { bytes[$0] != 0 && !isSlot($0) }) {
                faults.append("the bytes outside of the slots of \(name) are not all 0")
            }
        }

        private mutating func addSlot(at offset: Int, _ name: String) {
            let slot: Slot = offset + HeadFile.slotBytes <= bytes.count ? Slot(bytes, at: offset) : .torn
            switch slot {
            case .torn:
                // Nothing was stored into a new file's second slot.
                let isNew = heads.first?.head.number == 0 && bytes.dropFirst(offset).allSatisfy { $0 == 0 }
                if !isNew || offset >= bytes.count {
                    tornSlots.append("the slot at byte \(offset) of \(name) was torn by a crash, or is damaged")
                }
            case .format(let version):
                faults.append("the slot at byte \(offset) of \(name) \(LogFormat.unknownFormat(version))")
            case .damaged(let words): faults.append("\(name) is damaged: \(words)")
            case .head(let head, let identity):
                let isNone = head.number == 0
                guard isNone ? head.term == 0 && head.hash == .zero : head.number <= FileLogLimits.blockNumberMax
                else {
                    faults.append("\(name) is damaged: a slot names no block")
                    return
                }
                heads.append((head, identity))
            }
        }
    }
}
