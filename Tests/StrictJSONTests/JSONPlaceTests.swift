import StrictJSON
import Testing

/// Where editors show what a byte's number says.
@Suite struct JSONPlaceTests {
    @Test(arguments: [
        ("", 0, "1:1"), ("abc", 0, "1:1"), ("abc", 2, "1:3"), ("abc", 3, "1:4"), ("abc", 9, "1:4"),
        ("a\nbc", 1, "1:2"), ("a\nbc", 2, "2:1"), ("a\r\nbc", 3, "2:1"), ("\n\n", 2, "3:1"),
        ("\tx", 1, "1:2"), ("é語😀x", 2, "1:2"), ("é語😀x", 5, "1:3"), ("é語😀x", 9, "1:4"),
    ])
    func aByteStandsInALineAndAColumn(text: String, offset: Int, expected: String) {
        #expect(JSONPlace(of: offset, in: Array(text.utf8)).description == expected)
    }

    /// The wire's messages name the byte; who shows the place leaves it out.
    @Test func anErrorIsSaidWithItsByteOrWithoutAnyPlace() throws {
        let bytes = Array(#"{"a": tru}"#.utf8)
        let error = #expect(throws: JSONError.self) {
            try bytes.withUnsafeBufferPointer { bytes in
                var reader = JSONReader(bytes)
                try reader.skip()
            }
        }
        #expect(error?.message == "is not JSON: no value is spelled like this at byte 6")
        #expect(error?.rule == "is not JSON: no value is spelled like this")
    }
}
