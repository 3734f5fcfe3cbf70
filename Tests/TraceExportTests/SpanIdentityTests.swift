import Testing

@testable import TraceExport

/// W3C Trace Context, as its recommendation has it.
@Suite struct SpanIdentityTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test func aHeaderIsReadAndWritten() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let identity = try #require(SpanIdentity(traceParent: text))
        #expect(identity.traceID == Self.trace && identity.spanID == Self.span && identity.isSampled)
        #expect(identity.traceParent == text)
    }

    @Test(arguments: [
        ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-02", false), ("00-\(trace)-\(span)-03", true),
        // What later versions add stands behind the four parts.
        ("01-\(trace)-\(span)-01", true), ("cc-\(trace)-\(span)-01-what-the-future-brings", true),
    ])
    func theFlagSaysWhetherItIsSampled(_ text: String, _ isSampled: Bool) throws {
        #expect(try #require(SpanIdentity(traceParent: text)).isSampled == isSampled)
    }

    @Test(arguments: [
        "", "-", "---", "00-\(trace)-\(span)", "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-01-",
        "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-001",
        "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01", "00-\(trace)0-\(span)-01",
        "00-\(trace.dropLast())-\(span)-01", "00-\(trace)-\(span)0-01", "00-\(trace)-\(span)-0g",
        " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ", "00-\(trace)é-\(span)-01",
        "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
    ])
    func whatIsNoneIsAsIfItHadNotCome(_ text: String) {
        #expect(SpanIdentity(traceParent: text) == nil)
    }
}
