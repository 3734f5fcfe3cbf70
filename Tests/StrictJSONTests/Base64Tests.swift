import Foundation
import LedgerTestKit
import Testing

@testable import StrictJSON

@Suite struct Base64Tests {
    private func decode(_ text: String) -> [UInt8]? {
        Array(text.utf8).withUnsafeBufferPointer { Base64.decodeURL($0) }
    }
    private func decodeStandard(_ text: String) -> [UInt8]? {
        Array(text.utf8).withUnsafeBufferPointer { Base64.decodeStandard($0) }
    }

    @Test func everyLengthIsReadBack() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            var url: [UInt8] = [], standard: [UInt8] = []
            bytes.withUnsafeBufferPointer {
                Base64.encodeURL($0, into: &url)
                Base64.encodeStandard($0, into: &standard)
            }
            let expected = Data(bytes).base64EncodedString()
            #expect(String(decoding: standard, as: UTF8.self) == expected)
            #expect(decodeStandard(expected) == bytes)
            let text = expected.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
            #expect(String(decoding: url, as: UTF8.self) == text)
            #expect(decode(text) == bytes)
        }
    }

    @Test func eachSequenceOfBytesHasOneTextOnly() {
        // Of all texts of two and three characters, as many are accepted as there are bytes.
        let characters = (0...127).map { String(UnicodeScalar(UInt8($0))) }
        var two = 0, three = 0
        for a in characters {
            for b in characters where decode(a + b) != nil { two += 1 }
        }
        for b in characters {
            for c in characters where decode("A" + b + c) != nil { three += 1 }
        }
        #expect(two == 256)
        // "A" fixes six bits of sixteen.
        #expect(three == 1_024)
    }

    @Test(arguments: [
        "A", "AAAAA", "AA=", "AA==", "AAA=", "A A", "AA\n", "AAA+", "AAA/", "AB", "AAB", "AAA\u{0}", "AAÄ", "=",
        "====",
    ])
    func urlTextsMustBeStrict(_ text: String) { #expect(decode(text) == nil) }

    @Test(arguments: [
        "A", "AA", "AAA", "AA=", "AB==", "AAB=", "A===", "====", "AAA-", "AAA_", "AA==AAAA", "=AAA", "AA=A",
    ])
    func standardTextsMustBeStrict(_ text: String) { #expect(decodeStandard(text) == nil) }
}
