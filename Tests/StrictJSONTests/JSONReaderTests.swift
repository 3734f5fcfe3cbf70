import Testing

@testable import StrictJSON

@Suite struct JSONReaderTests {
    @Test(arguments: [
        "{}", "[]", " \t\r\n[ ] ", "0", "-0", "-1", "1e5", "1.5E-3", "true", "false", "null", #""""#, #""é😀""#,
        #"{"a":1,"b":[true,null,{"c":"d"}]}"#, #""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\u0000""#, #"{"":0}"#,
        "\"\u{7f}\"", #"[1,2,3]"#, "123456789012345678901234567890",
    ])
    func validTextsAreAccepted(_ text: String) {
        #expect(refusal(text) == nil)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a" 1}"#,
        #"{a:1}"#, #"{'a':1}"#, "01", "-", "+1", "1.", ".5", "1e", "1e+", "-01", "00", "0x1", "NaN", "Infinity", "tru",
        "True", "nul", "truex", "1 2", "{}{}", #"""#, #""\"#, #""\u12"#, #""\u12G4""#, #""\x""#, "\"\u{1}\"", "\"\n\"",
        "\"\t\"", #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\ud800"#, "// c\n1", "1/**/",
        "\u{feff}{}", "\u{a0}1", "[1]]", "\"a\u{0}b\"",
    ])
    func invalidTextsAreSyntaxErrors(_ text: String) throws {
        let error = try #require(refusal(text))
        guard case .syntax = error.kind else {
            Issue.record("\(text): \(error)")
            return
        }
        #expect(error.isMalformedText)
        #expect(error.offset <= text.utf8.count)
    }

    /// RFC 3629 §4: overlong forms, surrogates, above U+10FFFF, cut short, alone.
    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82],
            [0xF0, 0x9F, 0x98],
            [0xFF], [0xC3, 0x28], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xF0, 0x28, 0x8C, 0xBC],
        ] as [[UInt8]])
    func stringsThatAreNotUTF8AreRefused(_ bytes: [UInt8]) {
        for padding in 0..<10 {
            let text = Array("\"".utf8) + [UInt8](repeating: 0x61, count: padding) + bytes + Array("\"".utf8)
            #expect(refusal(text)?.kind == .invalidUTF8)
            #expect(refusal(text)?.offset == 1 + padding)
        }
    }

    @Test func aMemberThatIsSetApartIsReadByItselfAndOnlyInThatObject() throws {
        func read(_ text: String) throws -> (names: [String], apart: String?) {
            var text = text
            return try text.withUTF8 { bytes in
                var reader = JSONReader(bytes)
                var names: [String] = []
                let (_, apart) = try reader.settingApart("a") { (reader) throws(JSONError) in
                    try reader.object { (reader, key) throws(JSONError) in
                        names.append(key.string)
                        try reader.skip()
                    }
                }
                try reader.end()
                return (names, apart.map { String(decoding: reader.bytes($0), as: UTF8.self) })
            }
        }
        #expect(try read(#"{"a": [1, {"a":2}] ,"b":{"a":3}}"#) == (["b"], #"[1, {"a":2}]"#))
        #expect(try read(#"{"b":{"a":3}}"#) == (["b"], nil))
        #expect(try read(#"{"\u0061":1}"#) == ([], "1"))
        for text in [#"{"a":1,"a":2}"#, #"{"a":}"#, #"{"a":{"b":1,"b":2}}"#] {
            #expect(throws: JSONError.self) { try read(text) }
        }
    }

    @Test func everyScalarIsReadBack() throws {
        for value in stride(from: UInt32(0x20), through: 0x10FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else { continue }
            let read = try JSONTree.parse("\"x\(scalar)\"")
            #expect(read == .string("x\(scalar)"))
        }
    }

    @Test func everyEscapedUnitIsReadBack() throws {
        for value in UInt32(0)...0xFFFF {
            let hex = String(value, radix: 16)
            let text = "\"\\u\(String(repeating: "0", count: 4 - hex.count))\(hex)\""
            if let scalar = Unicode.Scalar(value) {
                #expect(try JSONTree.parse(text) == .string(String(Character(scalar))))
            } else {
                #expect(refusal(text) != nil)
            }
        }
        #expect(try JSONTree.parse(#""\uD83D\uDE00\uDBFF\uDFFF""#) == .string("😀\u{10FFFF}"))
    }

    @Test func plainTextStopsAtEachSpecialByteAtEachPlace() {
        for special in [UInt8(ascii: "\\"), 0x00, 0x1F, 0x0A, 0x80, 0xFF] {
            for place in 0..<20 {
                var text = Array("\"ABCDEFGHIJKLMNOPQRST\"".utf8)
                text[1 + place] = special
                #expect(refusal(text) != nil, "\(special) at \(place)")
            }
        }
        for length in 0..<40 {
            #expect(refusal("\"" + String(repeating: "~", count: length) + "\"") == nil)
            #expect(refusal("\"" + String(repeating: " ", count: length)) != nil)
        }
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#,
        #"{"é":1,"\u00e9":1}"#, #"{"":1,"":2}"#, #"[{"x":{"purchaseDate":1,"purchaseDate":1}}]"#,
    ])
    func duplicateKeysAreRefusedAlsoWhereSkipped(_ text: String) {
        #expect(refusal(text)?.kind == .duplicateKey)
    }

    @Test func keysThatOnlyLookAlikeAreDifferent() {
        // Swift's strings would call the first two equal: composed and decomposed.
        #expect(refusal("{\"\u{e9}\":1,\"e\u{301}\":2,\"a\":3,\"A\":4,\"a \":5,\"aaaaaaaa\":6,\"aaaaaaaaa\":7}") == nil)
    }

    @Test func duplicateKeysAreFoundAmongMany() {
        for count in [2, 15, 16, 17, 18, 40, 1_000] {
            let keys = (0..<count).map { "\"key-number-\($0)\":\($0)" }
            #expect(refusal("{\(keys.joined(separator: ","))}") == nil)
            for again in [0, count / 2, count - 1] {
                let text = "{\(keys.joined(separator: ",")),\"key-number-\(again)\":0}"
                #expect(refusal(text)?.kind == .duplicateKey, "\(again) of \(count)")
            }
        }
    }

    @Test func keysWithEqualHashesAreToldApart() {
        // Long keys are hashed by their ends and length only.
        let keys = (0..<30).map { "\"beginning\($0 < 10 ? "0" : "")\($0)the-ending\":0" }
        #expect(refusal("{\(keys.joined(separator: ","))}") == nil)
        #expect(refusal("{\(keys.joined(separator: ",")),\(keys[3])}")?.kind == .duplicateKey)
    }

    @Test func nestingIsBounded() {
        let most = JSONLimits.depthMax
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(refusal(nested(most, "[", "]")) == nil)
        #expect(refusal(nested(most + 1, "[", "]"))?.kind == .tooDeep)
        #expect(refusal(nested(most, "{\"a\":", "}")) == nil)
        #expect(refusal(nested(most + 1, "{\"a\":", "}"))?.kind == .tooDeep)
        #expect(refusal(String(repeating: "[", count: 1_000_000))?.kind == .tooDeep)
        // Levels that were left do not count.
        #expect(refusal("[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]") == nil)
    }

    @Test func membersAreBounded() {
        let members = (0...JSONLimits.membersMax).map { "\"\($0)\":0" }
        #expect(refusal("{\(members.dropLast().joined(separator: ","))}") == nil)
        #expect(refusal("{\(members.joined(separator: ","))}")?.kind == .tooManyMembers)
    }

    @Test func theCallerMayAllowMoreMembers() throws {
        let text = Array("{\((0...2_000).map { "\"\($0)\":0" }.joined(separator: ","))}".utf8)
        let count = try text.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes, membersMax: 4_000)
            var count = 0
            try reader.object { reader, _ throws(JSONError) in
                count += 1
                try reader.skip()
            }
            try reader.end()
            return count
        }
        #expect(count == 2_001)
    }

    @Test func integersAreExact() throws {
        let integers: [(String, Int64)] = [
            ("0", 0), ("-0", 0), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), (" 7 ", 7),
        ]
        for (text, value) in integers {
            #expect(try read(text) { reader throws(JSONError) in try reader.integer() } == value)
        }
        let refused: [(String, JSONError.Kind)] = [
            ("9223372036854775808", .outOfRange), ("-9223372036854775809", .outOfRange), ("1.0", .notAnInteger),
            ("1e2", .notAnInteger), ("\"1\"", .wrongType(expected: .number)), ("true", .wrongType(expected: .number)),
        ]
        for (text, kind) in refused {
            #expect(throws: JSONError(kind, offset: 0)) {
                try read(text) { reader throws(JSONError) in try reader.integer() }
            }
        }
    }

    @Test func millisecondsAreCutOff() throws {
        let times: [(String, Int64)] = [
            ("1700358336049", 1_700_358_336_049), ("1700358336049.7297", 1_700_358_336_049), ("-1.9", -1), ("0.999", 0),
            ("1.7003583360497297e12", 1_700_358_336_049), ("9223372036854775807.9", .max),
        ]
        for (text, value) in times {
            #expect(try read(text) { reader throws(JSONError) in try reader.milliseconds() } == value)
        }
        for text in ["1e19", "1e999", "92233720368547758080"] {
            #expect(throws: JSONError(.outOfRange, offset: 0)) {
                try read(text) { reader throws(JSONError) in try reader.milliseconds() }
            }
        }
    }

    @Test func numbersAreRoundedCorrectly() throws {
        for text in [
            "0.1", "1e23", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "123456789.123456789",
        ] {
            #expect(try read(text) { reader throws(JSONError) in try reader.number() } == Double(text))
        }
        #expect(throws: JSONError(.outOfRange, offset: 0)) {
            try read("1e400") { reader throws(JSONError) in try reader.number() }
        }
    }

    @Test func keysAreMatchedInPlace() throws {
        var seen: [String] = []
        try read(#"{"amount":1,"am\u006funt2":2,"other":3,"amoun":4,"am\u006fun5":5}"#) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in
                switch key {
                case "amount": seen.append("amount")
                case "amount2": seen.append("amount2")
                case "amoun": seen.append("amoun")
                default: seen.append("?" + key.string)
                }
                try reader.skip()
            }
        }
        #expect(seen == ["amount", "amount2", "?other", "amoun", "?amoun5"])
    }

    @Test func rawGivesTheValuesBytes() throws {
        let text = #"{"id": [1, {"a":"}"}] , "x":"y"}"#
        var found: [String] = []
        try read(text) { reader throws(JSONError) in
            try reader.object { reader, _ throws(JSONError) in
                let range = try reader.raw()
                found.append(String(decoding: reader.bytes(range), as: UTF8.self))
            }
        }
        #expect(found == [#"[1, {"a":"}"}]"#, #""y""#])
    }

    @Test func errorsNameTheMember() throws {
        func path(_ text: String) -> String? {
            do throws(JSONError) {
                try read(text) { reader throws(JSONError) in
                    try reader.object { reader, key throws(JSONError) in
                        switch key {
                        case "debits":
                            try reader.array { reader, _ throws(JSONError) in
                                var hasAmount = false
                                try reader.object { reader, key throws(JSONError) in
                                    switch key {
                                    case "amount":
                                        guard try reader.integer() > 0 else { throw reader.fail("must be positive") }
                                        hasAmount = true
                                    default: try reader.skip()
                                    }
                                }
                                if !hasAmount { throw reader.missing("amount") }
                            }
                        default: try reader.skip()
                        }
                    }
                }
                return nil
            } catch {
                return error.description
            }
        }
        #expect(path(#"{"debits":[{"amount":1}]}"#) == nil)
        #expect(path(#"{"debits":[{"amount":0}]}"#) == "debits[0].amount must be positive")
        #expect(path(#"{"debits":[{"amount":1},{"amount":"1"}]}"#) == "debits[1].amount must be a number")
        #expect(path(#"{"debits":[{}]}"#) == "debits[0].amount is missing")
        #expect(path(#"{"debits":{}}"#) == "debits must be an array")
        #expect(path(#"{"x":[[0,[tru]]]}"#)?.hasPrefix("x[0][1][0] is not JSON") == true)
        #expect(path(#"{"a":{"b":1,"b":2}}"#) == "a.b is given twice")
        #expect(path("[]") == "the text must be an object")
        let long = String(repeating: "k", count: 5_000)
        #expect((path("{\"\(long)\":x}") ?? "").utf8.count < 200)
    }
}
