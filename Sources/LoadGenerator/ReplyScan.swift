import Foundation

/// Tells results from errors without reading the JSON: the server writes each reply in one way.
enum ReplyScan {
    private static let before: StaticString = #"{"jsonrpc":"2.0","id":"#
    private static let error: StaticString = #","error":{"#
    private static let idDigits = 10

    /// Errors among the replies of a line that ends with a NUL in place of its line end.
    ///
    /// A quotation mark within a JSON string is escaped, so these bytes stand for a member of a reply and nothing
    /// else.
    /// - Throws: ``Failure`` where it is not the answer to these requests.
    static func errors(in line: UnsafeBufferPointer<UInt8>, first: Int, count: Int) throws -> Int {
        let open = line.first == UInt8(ascii: "[") ? 1 : 0
        let idAt = open + before.utf8CodeUnitCount
        guard let base = line.baseAddress, line.count > idAt + idDigits + 2,
            memcmp(base + open, before.utf8Start, before.utf8CodeUnitCount) == 0
        else { throw LoadError(.service, "the server's line is no reply: \(excerpt(line))") }
        if base[idAt] == UInt8(ascii: "n") || (open == 0 && base[idAt + idDigits + 2] == UInt8(ascii: "e")) {
            // An error for the whole line.
            return count
        }
        var id: Int64 = 0
        for place in idAt..<idAt + idDigits { id = id * 10 + Int64(base[place] &- UInt8(ascii: "0")) }
        guard id == RequestTemplate.id(first) else {
            throw LoadError(.service, "the server's reply is not to the oldest request: \(excerpt(line))")
        }
        guard open == 1 else { return 0 }
        var errors = 0
        error.withUTF8Buffer { error in
            error.withMemoryRebound(to: CChar.self) { needle in
                guard let text = needle.baseAddress else { return }
                var rest = UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self)
                while let found = strstr(rest, text) {
                    errors += 1
                    rest = UnsafePointer(found + needle.count)
                }
            }
        }
        return errors
    }

    /// The first error of a line, for people.
    static func firstError(_ line: UnsafeBufferPointer<UInt8>) -> String {
        let text = String(decoding: line, as: UTF8.self)
        guard line.first == UInt8(ascii: "["), let error = text.range(of: #","error":{"#),
            let start = text.range(of: #"{"jsonrpc""#, options: .backwards, range: text.startIndex..<error.lowerBound)
        else { return excerpt(line) }
        return String(text[start.lowerBound...].prefix(LoadLimits.errorBytesShown))
    }

    static func excerpt(_ line: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: line.prefix(LoadLimits.errorBytesShown), as: UTF8.self)
    }
}
