import Testing

@testable import StrictJSON

@Suite struct JSONWriterTests {
    @Test func commasAreHandled() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("a")
        writer.integer(-1)
        writer.key("b")
        writer.beginArray()
        writer.beginObject()
        writer.endObject()
        writer.beginArray()
        writer.endArray()
        writer.null()
        writer.bool(true)
        writer.bool(false)
        writer.ascii("x")
        writer.endArray()
        writer.key("c" as String)
        writer.raw(Array("{\"r\":1}".utf8))
        writer.key("d")
        writer.string("é\"\\\n\u{1}\u{7f}")
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":-1,"b":[{},[],null,true,false,"x"],"c":{"r":1},"d":"é\"\\\n\u0001"# + "\u{7f}\"}")
    }

    @Test func everyIntegerSizeIsWritten() throws {
        for value in [Int64.min, .max, 0, 9, 10, -10, 99, 100, 9_007_199_254_740_991] {
            var writer = JSONWriter()
            writer.integer(value)
            #expect(String(decoding: writer.bytes, as: UTF8.self) == "\(value)")
        }
    }

    @Test func anyStringIsReadBackAndHasNoLineEnd() throws {
        for value in UInt32(0)...0x2FF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var writer = JSONWriter()
            writer.string("a\(scalar)b")
            #expect(!writer.bytes.contains(UInt8(ascii: "\n")))
            #expect(try JSONTree.parse(writer.bytes) == .string("a\(scalar)b"))
        }
    }

    @Test func theMemoryIsUsedAgain() {
        var writer = JSONWriter(appendingTo: Array("1\n".utf8))
        writer.beginArray()
        writer.endArray()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "1\n[]")
        writer.removeAll()
        writer.integer(2)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "2")
    }
}
