import Testing

@testable import TraceExport

@Suite struct EndpointTests {
    @Test(arguments: [
        ("http://127.0.0.1:4318/v1/traces", false), ("http://localhost/v1/traces", false),
        ("http://[::1]:4318/v1/traces", false), ("https://collector.example:4318/v1/traces", false),
        ("HTTPS://collector.example/a/b-c_d~e.f", false), ("http://127.1.2.3/v1/traces", false),
        ("http://collector.example/v1/traces", true), ("http://10.0.0.7:4318/v1/traces", true),
        ("http://127.0.0.1.example/v1/traces", true), ("http://[::2]/v1/traces", true),
        ("http://128.0.0.1/v1/traces", true),
    ])
    func aURLIsTakenAndItIsKnownWhetherOthersCouldReadWhatGoesThere(_ text: String, _ isExposed: Bool) throws {
        let endpoint = try #require(TraceEndpoint(text))
        #expect(endpoint.description == text && endpoint.isExposed == isExposed)
    }

    @Test(arguments: [
        "", "127.0.0.1:4318", "http://127.0.0.1:4318", "http://127.0.0.1:4318/", "http:///v1/traces",
        "ftp://127.0.0.1/v1/traces", "http://127.0.0.1:0/v1/traces", "http://127.0.0.1:65536/v1/traces",
        "http://user@127.0.0.1/v1/traces", "http://user:word@127.0.0.1/v1/traces", "http://127.0.0.1/v1/traces?a=b",
        "http://127.0.0.1/v1/traces#a", "http://127.0.0.1/v1/tra ces", "http://127.0.0.1:/v1/traces",
        " http://127.0.0.1/v1/traces", "http://127.0.0.1/v1/traces\n", "http://[::1/v1/traces", "http://-a/v1/traces",
    ])
    func whatIsNoURLWithAPathIsNotTaken(_ text: String) {
        #expect(TraceEndpoint(text) == nil)
    }
}
