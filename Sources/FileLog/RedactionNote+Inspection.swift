import Ledger

extension RedactionNote {
    /// What an inspection finds in a note's file.
    struct Findings {
        /// A redaction that was begun.
        private(set) var note: RedactionNote?
        /// What is not as a writer leaves it when it closes the log.
        private(set) var faults: [String] = []

        init(_ disk: any Disk, _ path: String) {
            do {
                guard let bytes = try RedactionNote.bytes(disk, path) else { return }
                switch try RedactionNote.content(of: bytes, path) {
                case .none: return
                case .torn: faults.append("the redaction noted in \(path) was interrupted by a crash, or is damaged")
                case .note(let note):
                    self.note = note
                    faults.append(
                        "the redaction of block \(note.number), noted in \(path), was interrupted; the next start "
                            + "finishes it")
                    if bytes.dropFirst(headerBytes + note.redactable.count).contains(where: { $0 != 0 }) {
                        faults.append("the bytes behind the note in \(path) are not all 0")
                    }
                }
            } catch {
                faults.append(error.description)
            }
        }
    }
}
