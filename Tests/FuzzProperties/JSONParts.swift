/// Changes one value in JSON, and leaves the others as they are.
enum JSONParts {
    /// Values at which a reader's answer changes.
    static let edges = [
        "null", "true", #""""#, "0", "-1", "1", "10", "11", "63", "64", "100000", "100001", "1.5", "1e3",
        "9007199254740991", "9007199254740992", "9223372036854775807", "9223372036854775808",
    ]

    /// A value that the number chooses becomes one of the edges, or what `body` makes of it; in one of four cases any
    /// bytes are changed.
    static func change(
        _ input: [UInt8], _ number: UInt32, edges: [String] = edges, _ body: ([UInt8]) -> [UInt8]
    ) -> [UInt8] {
        var choice = Choice(number)
        let values = values(of: input)
        guard choice.of(4) > 0, !values.isEmpty else { return body(input) }
        let value = values[choice.of(values.count)]
        let isEdge = choice.of(2) == 0
        let changed = isEdge ? Array(edges[choice.of(edges.count)].utf8) : body(Array(input[value]))
        return Array(input[..<value.lowerBound]) + changed + input[value.upperBound...]
    }

    /// Where texts and numbers stand behind a colon.
    private static func values(of input: [UInt8]) -> [Range<Int>] {
        var values: [Range<Int>] = []
        var place = 0
        while let colon = input[place...].firstIndex(of: UInt8(ascii: ":")), colon + 1 < input.count {
            place = colon + 1
            switch input[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): continue
            case UInt8(ascii: "\""):
                var end = place + 1
                while end < input.count, input[end] != UInt8(ascii: "\"") {
                    end += input[end] == UInt8(ascii: "\\") ? 2 : 1
                }
                values.append(place..<min(end + 1, input.count))
            case _:
                let end = input[place...].firstIndex { ",]}".utf8.contains($0) } ?? input.count
                values.append(place..<end)
            }
            place = values[values.count - 1].upperBound
        }
        return values
    }
}
