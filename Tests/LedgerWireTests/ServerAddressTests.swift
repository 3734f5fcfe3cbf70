import LedgerWire
import Testing

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("127.0.0.1:7117", ServerAddress.tcp(host: "127.0.0.1", port: 7117)),
        ("localhost:0", .tcp(host: "localhost", port: 0)),
        ("[::1]:65535", .tcp(host: "::1", port: 65_535)),
        ("unix:/run/ledger.sock", .unix(path: "/run/ledger.sock")),
        ("unix:relative", .unix(path: "relative")),
    ])
    func anAddressIsReadAndShownAlike(text: String, address: ServerAddress) throws {
        #expect(try ServerAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", "localhost", ":7117", "host:", "host:65536", "host:-1", "host:+1", "host:1e3", "host:0007117", "::1:7117",
        "[::1]", "[]:1", "ho st:1", "unix:", "unix:a\0b", "unix:" + String(repeating: "p", count: 104),
    ])
    func whatIsNoAddressIsRefusedWithTheText(text: String) {
        let error = #expect(throws: ServerAddress.Malformed.self) { try ServerAddress(text) }
        #expect(error?.description.hasPrefix("'\(text)'") == true)
    }
}
