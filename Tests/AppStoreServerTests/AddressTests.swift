import AppStore
import AppStoreServer
import Testing

/// Whom a client may ask: anybody by HTTPS, this machine by HTTP too.
@Suite struct AddressTests {
    @Test func applesAddressesAreThoseOfMay2026() {
        #expect(AppStoreAddress(.production)?.description == "https://api.storekit.apple.com")
        #expect(AppStoreAddress(.sandbox)?.description == "https://api.storekit-sandbox.apple.com")
        #expect(AppStoreAddress(.xcode) == nil && AppStoreAddress(.localTesting) == nil)
        #expect(AppStoreAddress(Environment(rawValue: "Other")) == nil)
    }

    @Test(arguments: [
        "https://example.com", "https://example.com:8443", "https://a-b.example.com/", "https://[2001:db8::1]:443",
        "https://192.0.2.1", "HTTPS://EXAMPLE.com", "http://127.0.0.1:7119", "http://127.1.2.3", "http://localhost:80/",
        "http://[::1]:7119", "http://LOCALHOST",
    ])
    func anAddressIsTaken(text: String) throws {
        let address = try AppStoreAddress(text)
        #expect(address.description == (text.hasSuffix("/") ? String(text.dropLast()) : text))
    }

    @Test(arguments: [
        // In the clear over a network.
        "http://example.com", "http://192.0.2.1", "http://127.0.0.1.example.com", "http://localhost.example.com",
        "http://[2001:db8::1]", "http://127.0.0.256", "http://127.0.1", "http://1270.0.0.1", "http://0x7f.0.0.1",
        // No address at all, or more than one.
        "", "https://", "https:///", "example.com", "ftp://example.com", "https://example.com/path",
        "https://example.com//", "https://user@example.com", "https://user:password@example.com",
        "https://example.com?a=b", "https://example.com#a", "https://example.com:", "https://example.com:0",
        "https://example.com:65536", "https://example.com:+1", "https://exa mple.com", "https://example.com\r\n",
        "https://[::1", "https://[]", "https://[g::1]", "https://::1", "https://ex\u{E4}mple.com",
        "http://127.0.0.1@example.com", "http://localhost:80@example.com", "https://[::1]x", "https://[::1]x443",
        "https://[::1]443",
    ])
    func whatIsNoneIsRefused(text: String) {
        #expect(throws: AppStoreServerError.self) { try AppStoreAddress(text) }
    }
}
