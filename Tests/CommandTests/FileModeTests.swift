import Foundation
import Ledger
import LedgerClient
import Testing

/// Whose the files are that a ledger consists of.
@Suite struct FileModeTests {
    /// The modes of everything in a folder, and its own.
    private static func modes(_ folder: String) throws -> [String: Int] {
        let paths = [""] + (try FileManager.default.subpathsOfDirectory(atPath: folder)).map { "/" + $0 }
        return try Dictionary(
            uniqueKeysWithValues: paths.map { path in
                let attributes = try FileManager.default.attributesOfItem(atPath: folder + path)
                return (path, try #require(attributes[.posixPermissions] as? Int))
            })
    }

    /// Also where the umask would let everybody read and write.
    @Test func filesAreMadeForTheirOwnerAlone() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder, through: "umask 000")
        let client = try await service.client()
        for number in 0..<3 {
            _ = try await client.credit(
                signedTransaction: try studio.purchase(number), account: try #require(AccountName("player")))
        }
        let (ledger, backup) = (studio.folder.path("ledger"), studio.folder.path("backup"))
        #expect(try Command.run(["backup", ledger, "--to", backup]).status == 0)
        var folders = [ledger: try Self.modes(ledger), backup: try Self.modes(backup)]
        try await client.close()
        #expect(service.stop() == 0)
        let rebuilt = try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")])
        #expect(rebuilt.status == 0, "\(rebuilt.error)")
        folders["rebuilt"] = try Self.modes(ledger)
        for (folder, modes) in folders {
            #expect(modes.count >= 5)
            for (path, mode) in modes {
                #expect(mode & 0o077 == 0, "\(folder)\(path) has the mode \(String(mode, radix: 8))")
            }
        }
    }
}
