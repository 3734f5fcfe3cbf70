import Foundation
import Ledger

/// A file of a report, beside which another one (`NAME.meta.json`) says what fixes it where its period is closed.
///
/// Of the two, the one beside is never of another report: one that is there from before is taken away before the report
/// takes its place, and a new one follows it. What has that name and was not written by this program stays, and where
/// it is in the way, nothing is written.
struct SealedFile {
    private let file: OutputFile
    /// Where the file is; `nil` where it is a stream.
    private let path: String?
    /// What fixes the report; `nil` where its period is open.
    private(set) var seal: ReportSeal?

    /// - Parameter path: `nil` for standard output.
    /// - Throws: ``FileError`` where nothing can be written there.
    init(_ path: String?) throws(FileError) {
        file = try OutputFile(path)
        self.path = file.isFile ? path : nil
    }

    /// Says what fixes the report, before its first bytes.
    /// - Throws: ``FileError`` where a file that is not this program's stands where that would be written.
    mutating func set(_ seal: ReportSeal?) throws(FileError) {
        self.seal = seal
        guard seal != nil, let path else { return }
        if case .foreign = SealedFile.besides(path) {
            throw FileError(
                SealedFile.sideName(of: path), "was not written by this program, and is where the report's header goes")
        }
    }

    func write(_ bytes: [UInt8]) throws(FileError) { try file.write(bytes) }

    /// Ends the report.
    /// - Parameter rows: how many it has.
    func finish(rows: Int) throws(FileError) {
        // Before the old header goes, the new report is whole: where it is not, both old files stay.
        try file.sync()
        if let path, case .own = SealedFile.besides(path) {
            let name = SealedFile.sideName(of: path)
            guard unlink(name) == 0 || errno == ENOENT else { throw FileError(name, "cannot be removed", code: errno) }
        }
        try file.finish()
        guard let path, let seal else { return }
        let side = try OutputFile(SealedFile.sideName(of: path))
        let name = path.split(separator: "/").last.map(String.init) ?? path
        try side.write(seal.sideFile(of: name, rows: rows, madeAt: Clock.now()))
        try side.finish()
    }

    // MARK: The file beside it

    private enum Beside {
        case none, own, foreign
    }

    private static func sideName(of path: String) -> String { path + ".meta.json" }

    /// This program writes such files in one form, which begins with their header and the report in it.
    private static func besides(_ path: String) -> Beside {
        let name = sideName(of: path)
        guard access(name, F_OK) == 0 else { return .none }
        guard let bytes = try? File.read(name, bytesMax: sideBytesMax) else { return .foreign }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasPrefix(#"{"header":{"report":""#) && text.contains(#","madeAt":""#) ? .own : .foreign
    }

    /// The header of a month that is settled has the digests of Apple's files, of which there are a few a month.
    private static let sideBytesMax = 16 << 20
}
