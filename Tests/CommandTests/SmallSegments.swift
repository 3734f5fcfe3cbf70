import AppStore
import FileLog
import Foundation
import Ledger
import Testing

extension Studio {
    /// Writes the log of a ledger that nobody serves anew, with the same blocks in segments of some kilobytes: the
    /// service's own have 64 MiB.
    func cutLogIntoSmallSegments() throws {
        let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
        let hash: HashFunction = { SHA256.hash($0, into: $1) }
        let (old, new) = (LedgerFolder(folder.path("ledger")), LedgerFolder(folder.path("cut")))
        try FileManager.default.createDirectory(atPath: new.path, withIntermediateDirectories: false)
        let configuration = FileLogConfiguration(segmentBytes: 4 << 10)
        try FileLog.create(
            folder: new.log, headFile: new.headFile, identity: Digest(of: row, hash), configuration: configuration)
        let from = try FileLog.openForReading(
            folder: old.log, headFile: old.headFile, identity: Digest(of: row, hash), hash: hash)
        let to = try FileLog.open(
            folder: new.log, headFile: new.headFile, identity: Digest(of: row, hash), hash: hash,
            configuration: configuration)
        try to.settle()
        while let block = try from.read(after: to.head?.number ?? 0, bytesMax: 0).first { try to.append(block) }
        #expect(to.head == from.head)
        from.close()
        to.close()
        for name in ["log", "head"] {
            try FileManager.default.removeItem(atPath: old.path + "/" + name)
            try FileManager.default.moveItem(atPath: new.path + "/" + name, toPath: old.path + "/" + name)
        }
        try FileManager.default.removeItem(atPath: new.path)
    }

    /// Names archives in the configuration, or none.
    func configure(archive names: [String]) throws {
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "archive": [\(list)],
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json", "insecureLoopback": true}
            """)
    }
}
