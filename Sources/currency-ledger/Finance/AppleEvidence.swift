import AppStore
import AppleReports
import Foundation
import Ledger

/// Files of App Store Connect, kept as they came, in a folder of their own: what settled the money can be shown as long
/// as the books can. Each is named by its SHA-256 and the name that it came with, and is there once.
struct AppleEvidence {
    /// A file that is kept.
    struct Kept {
        /// The name that it came with.
        let name: String
        let path: String
        /// Its SHA-256, as hexadecimal digits.
        let digest: String
    }

    private let folder: String

    /// The bytes of a file: Apple's are compressed, and much smaller.
    static let fileBytesMax = 256 << 20

    /// - Throws: ``FileError`` where the folder is not there and cannot be made.
    init(_ folder: String) throws(FileError) {
        self.folder = folder
        try File.makeFolder(folder)
    }

    /// Keeps a file, durably, unless it is kept already.
    /// - Returns: whether it was not.
    /// - Throws: ``FileError`` where it cannot be read, is none of Apple's reports, or cannot be kept.
    func keep(_ path: String) throws(FileError) -> Bool {
        let bytes = try File.read(path, bytesMax: AppleEvidence.fileBytesMax)
        do throws(ReportFault) {
            _ = try ReportReader().read(ReportInput(bytes: bytes)) { _ in }
        } catch {
            throw FileError(path, "\(error)")
        }
        let name = "\(AppleEvidence.digest(bytes))-\(path.split(separator: "/").last ?? "report")"
        let kept = "\(folder)/\(name)"
        if FileManager.default.fileExists(atPath: kept) { return false }
        // The same bytes under another name are the same file.
        let digest = name.prefix(AppleEvidence.digestLength)
        if try names().contains(where: { $0.hasPrefix(digest) }) { return false }
        try File.replace(kept, with: bytes)
        return true
    }

    /// All files that are kept, by the names they came with.
    /// - Throws: ``FileError`` for one that is not what it was.
    func files() throws(FileError) -> [Kept] {
        var files: [Kept] = []
        for name in try names() {
            let path = "\(folder)/\(name)"
            let bytes = try File.read(path, bytesMax: AppleEvidence.fileBytesMax)
            let digest = AppleEvidence.digest(bytes)
            guard name.hasPrefix(digest) else {
                throw FileError(path, "is not what it was when it was kept: its SHA-256 is another")
            }
            files.append(
                Kept(name: String(name.dropFirst(AppleEvidence.digestLength + 1)), path: path, digest: digest))
        }
        return files.sorted { ($0.name, $0.path) < ($1.name, $1.path) }
    }

    private static let digestLength = 64

    private static func digest(_ bytes: [UInt8]) -> String { Digest(sha256: SHA256.hash(bytes)).hexadecimal }

    /// Other files in the folder are none of the evidence.
    private func names() throws(FileError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
                name.utf8.count > AppleEvidence.digestLength + 1
                    && Digest(hexadecimal: String(name.prefix(AppleEvidence.digestLength))) != nil
                    && name.dropFirst(AppleEvidence.digestLength).first == "-"
            }
        } catch {
            throw FileError(folder, "cannot be read: \(error.localizedDescription)")
        }
    }
}
