import Foundation
import Testing

@testable import currency_ledger

@Suite struct ConfigurationTests {
    private func load(
        _ json: String, flags: [String: String] = [:], environment: [String: String] = [:]
    ) throws -> Settings {
        let folder = try TemporaryFolder()
        try folder.write("ledger.json", json)
        return try Settings.load(file: folder.path("ledger.json"), flags: flags, environment: environment)
    }

    private let minimal = #"{"app": {"bundleId": "a.b", "environment": "Sandbox"}, "catalog": "c.json"}"#

    @Test func defaultsApplyWhereNothingIsSaid() throws {
        let settings = try load(minimal)
        #expect(settings.listen.map(\.description) == ["127.0.0.1:7117"])
        #expect(settings.path == "ledger")
        #expect(settings.anchors.isEmpty)
        #expect(settings.tokens.isEmpty)
        #expect(settings.catalog.hasSuffix("/c.json"))
        #expect(settings.catalog.hasPrefix("/"))
    }

    @Test func flagsStandOverVariablesAndVariablesOverTheFile() throws {
        let environment = ["LEDGER_APP_BUNDLE_ID": "from.environment", "LEDGER_LISTEN": "127.0.0.1:1,unix:/tmp/x"]
        #expect(try load(minimal, environment: environment).bundleID == "from.environment")
        #expect(
            try load(minimal, environment: environment).listen.map(\.description) == ["127.0.0.1:1", "unix:/tmp/x"])
        let flags = ["app.bundleId": "from.flag", "listen": "127.0.0.1:2"]
        #expect(try load(minimal, flags: flags, environment: environment).bundleID == "from.flag")
        #expect(try load(minimal, flags: flags, environment: environment).listen.map(\.description) == ["127.0.0.1:2"])
    }

    @Test(arguments: [
        (#"{"app": {"bundleId": "a", "environment": "Sandbox"}}"#, "catalog is required"),
        (#"{"app": {"environment": "Sandbox"}, "catalog": "c"}"#, "app.bundleId is required"),
        (#"{"app": {"bundleId": "a", "environment": "Moon"}, "catalog": "c"}"#, "app.environment must be Production"),
        (#"{"ap": {}, "catalog": "c"}"#, "ap is not a setting"),
        (#"{"app": {"bundleId": 5}}"#, "app.bundleId must be a string"),
        (#"{"listen": "x"}"#, "listen must be an array"),
        (#"{"listen": [1]}"#, "listen[0] must be a string"),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "listen": ["nowhere"]}"#,
            "listen 'nowhere' is not host:port"
        ),
        (#"{"catalog": "a", "catalog": "b"}"#, "catalog is given twice"),
        (#"{"tokens": {"boss": []}}"#, "tokens.boss is not a role"),
        (#"{"catalog": "#, "is not JSON"),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "tokens": {"game": ["short"]}}"#,
            "tokens.game must have at least 16 bytes"
        ),
        (
            #"{"app": {"bundleId": "a", "environment": "Sandbox"}, "catalog": "c", "cache": {"players": 1}}"#,
            "cache.players must be an integer from 1000"
        ),
    ])
    func aWrongFileSaysWhichKeyAndWhy(json: String, expected: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try load(json) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("ledger.json") == true)
    }

    @Test(arguments: [
        ("{}", "currencies is missing"),
        (#"{"currencies": {}, "products": {}}"#, "currencies must name a currency"),
        (#"{"currencies": {"g s": {}}, "products": {}}"#, "is not a currency's code"),
        (
            #"{"currencies": {"g": {"spendOrder": "x"}}, "products": {}}"#,
            "currencies.g.spendOrder must be one of free_first"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {"p": {"h": 1}}}"#,
            "products.p.h is not among the catalog's currencies"
        ),
        (#"{"currencies": {"g": {}}, "products": {"p": {"g": 0}}}"#, "products.p.g must be an amount from 1"),
        (#"{"currencies": {"g": {}}, "products": {"p": {"g": 1.5}}}"#, "products.p.g must be an integer"),
        (#"{"currencies": {"g": {}}, "products": {"p": {}}}"#, "products.p must grant something"),
        (
            #"{"currencies": {"g": {}}, "products": {"p": [{"from": 0, "grants": {"g": 1}, "priceShares": {"h": 1}}]}}"#,
            "products.p[0] must give priceShares for just the currencies"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {}, "refundPreferences": [{"from": 100001, "preference": "DECLINE"}]}"#,
            "refundPreferences[0].from must be a consumption"
        ),
        (
            #"{"currencies": {"g": {}}, "products": {}, "refundPreferences": [{"from": 0, "preference": "MAYBE"}]}"#,
            "refundPreferences[0].preference must be one of DECLINE"
        ),
        (#"{"currencies": {"g": {}}, "products": {"p": [{"grants": {"g": 1}}]}}"#, "products.p[0].from is missing"),
        (
            #"{"currencies": {"g": {}}, "products": {"p": [{"from": 1, "grants": {"g": 1}}, {"from": 1, "grants": {"g": 2}}]}}"#,
            "products.p[1] repeats another offer's from"
        ),
    ])
    func aWrongCatalogSaysWhereAndWhy(json: String, expected: String) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try CatalogFile.parse(Array(json.utf8), name: "catalog.json")
        }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    @Test func anOfferAppliesFromItsDateOn() throws {
        let catalog = try CatalogFile.parse(
            Array(
                #"{"currencies": {"g": {}}, "products": {"p": [{"from": 100, "grants": {"g": 2}}, {"from": 0, "grants": {"g": 1}}]}}"#
                    .utf8), name: "catalog.json")
        #expect(catalog.products["p"]?.map(\.from) == [0, 100])
    }

    @Test func serveNamesTheWrongSettingAndExitsWithTheStatusForIt() throws {
        let folder = try TemporaryFolder()
        try folder.write("ledger.json", #"{"app": {"bundleId": "a", "environment": "Mars"}, "catalog": "c"}"#)
        let finished = try Command.run(["serve", "--config", folder.path("ledger.json")])
        #expect(finished.status == 78)
        #expect(finished.error.contains("app.environment must be Production, Sandbox, Xcode or LocalTesting"))
    }
}
