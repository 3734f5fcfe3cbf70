import Foundation
import Synchronization

/// A folder in the system's place for temporary files (`TMPDIR`), made when it is needed first.
final class ScratchFolder: Sendable {
    private let made = Mutex<String?>(nil)

    /// - Throws: ``Failure`` where the folder cannot be made.
    func path(_ name: String) throws -> String {
        try made.withLock { made in
            if let made { return made + "/" + name }
            let parent = FileManager.default.temporaryDirectory.path
            var template = Array("\(parent)/currency-ledger-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else {
                throw Failure("making a folder in \(parent), which TMPDIR names: \(String(cString: strerror(errno)))")
            }
            let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            made = folder
            return folder + "/" + name
        }
    }

    /// Removes it with what is in it. What a killed process leaves, the system clears.
    func remove() {
        made.withLock { made in
            if let made { try? FileManager.default.removeItem(atPath: made) }
            made = nil
        }
    }
}
