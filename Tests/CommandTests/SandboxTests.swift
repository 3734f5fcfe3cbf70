import Foundation
import Testing

/// A studio without the App Store: its own chain signs, its own service believes it, finance exports.
@Suite struct SandboxTests {
    private func studio() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        #expect(try Command.run(["sandbox", "init", folder.path("chain")]).status == 0)
        try folder.write(
            "catalog.json", #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["unix:\(folder.path("s"))"],
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["chain/root.der"], "catalog": "catalog.json"}
            """)
        return folder
    }

    private func signed(_ folder: TemporaryFolder, _ arguments: [String]) throws -> String {
        let finished = try Command.run(["sandbox"] + arguments)
        #expect(finished.status == 0, "\(finished.error)")
        let name = folder.path("\(UUID().uuidString).jws")
        try finished.output.write(toFile: name, atomically: true, encoding: .utf8)
        return "@\(name)"
    }

    @Test func whatTheSandboxSignsTheServiceTakes() throws {
        let folder = try studio()
        let service = try RunningService(folder)
        func call(_ method: String, _ parameters: String...) throws -> Finished {
            try Command.run(["call", method, "--server", service.address] + parameters)
        }
        let date = Int64(Date().timeIntervalSince1970 * 1_000) - 60_000
        let facts = ["--transaction-id", "7", "--quantity", "3", "--purchase-date", "\(date)"]
        let purchase = try signed(folder, ["sign", folder.path("chain"), "--signed-date", "\(date)"] + facts)
        #expect(try call("credit", "account=p,1", "signedTransaction=\(purchase)").output.contains(#""amount": 1500"#))

        let part = try signed(
            folder,
            ["notify", folder.path("chain"), "--notification-type", "REFUND", "--revocation-percentage", "33333"]
                + ["--signed-date", "\(date + 1)"] + facts)
        #expect(try call("notify", "signedPayload=\(part)").output.contains(#""amount": -499"#))
        for type in ["TEST", "RESCIND_CONSENT", "EXTERNAL_PURCHASE_TOKEN", "SUBSCRIBED"] {
            let notification = try signed(
                folder, ["notify", folder.path("chain"), "--notification-type", type, "--no-transaction"])
            let finished = try call("notify", "signedPayload=\(notification)")
            #expect(finished.status == 0, "\(type): \(finished.output)")
            #expect(finished.output.contains(#""purchase": null"#))
        }

        let csv = folder.path("balances.csv")
        let exported = try Command.run(["export", "balances", "--server", service.address, "--output", csv])
        #expect(exported.status == 0, "\(exported.error)")
        #expect(
            try String(contentsOfFile: csv, encoding: .utf8)
                == "account,currency,available,held,debt,paid,free\r\n\"p,1\",gems,1001,0,0,1001,0\r\n")
        let before = try Command.run([
            "export", "balances", "--server", service.address, "--format", "jsonl", "--as-of", "2020-01-31T23:59:59Z",
        ])
        #expect(before.status == 0 && before.output.isEmpty, "\(before.error)")
        let future = try Command.run(["export", "trial", "--server", service.address, "--as-of", "2999-01-01"])
        #expect(future.status == 1)
        #expect(future.error.contains("asOf is in the future"))
        #expect(service.stop() == 0)
        let offline = try Command.run(["export", "debts", "--path", folder.path("ledger")])
        #expect(offline.output == "account,currency,transactionId,lot,debt,since,ageMilliseconds\r\n")
    }

    @Test func aChainIsNotOverwritten() throws {
        let folder = try studio()
        let again = try Command.run(["sandbox", "init", folder.path("chain")])
        #expect(again.status == 1)
        #expect(again.error.contains("holds a chain already"))
        let none = try Command.run(["sandbox", "sign", folder.path("nothing")])
        #expect(none.status == 1)
        #expect(none.error.contains("there is no such file"))
    }

    @Test(arguments: [
        ["export", "balances", "--as-of", "yesterday"], ["export", "nothing"],
        ["export", "trial", "--server", "a:1", "--path", "b"], ["call"], ["call", "ping", "novalue"],
    ])
    func aWrongArgumentIsNamed(arguments: [String]) throws {
        let finished = try Command.run(arguments)
        #expect(finished.status != 0)
        #expect(finished.error.contains("Usage:"), "\(finished.error)")
    }

    @Test func whatIsNoLedgerIsRefusedByItsName() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", "this is no ledger")
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: false)
        for (name, why) in [("file", "is a file"), ("absent", "there is no ledger at"), ("empty", "no ledger")] {
            let finished = try Command.run(["export", "trial", "--path", folder.path(name)])
            #expect(finished.status == 1)
            #expect(finished.error.contains(folder.path(name)) && finished.error.contains(why), "\(finished.error)")
        }
    }
}
