import Foundation
import LedgerTestKit
import LedgerWire
import StrictJSON
import Testing

@testable import struct LedgerWire.FaultyRequest

/// Mutated lines: nothing traps, and each request has exactly one answer, which can be read.
@Suite struct FuzzTests {
    private static let seeds: [UInt64] = [1, 2, 3, Seed.drawn(for: "FuzzTests")]

    private static func corpus() throws -> [[UInt8]] {
        var writer = RequestWriter()
        var lines: [[UInt8]] = []
        for request in try Samples.requests() {
            writer.removeAll()
            request.write(&writer, .string("id"))
            lines.append(writer.bytes.dropLast())
        }
        writer.removeAll()
        writer.beginBatch()
        for request in try Samples.requests().prefix(12) { request.write(&writer, .integer(7)) }
        writer.write(Methods.ping, NoParams(), id: nil)
        writer.endBatch()
        lines.append(writer.bytes.dropLast())
        // Every order of an atomic's members, and of its operations'.
        for operation in [
            #"{"params":{"holdKey":"h"},"method":"release"}"#, #"{"method":"release","params":{"holdKey":"h"}}"#,
        ] {
            for params in [
                #""key":"k","operations":[\#(operation),\#(operation)]"#,
                #""operations":[\#(operation),\#(operation)],"key":"k""#,
            ] {
                lines.append(Array(#"{"jsonrpc":"2.0","method":"atomic","params":{\#(params)},"id":"id"}"#.utf8))
            }
        }
        lines.append(Array(#"[1,{"foo":"boo"},{"jsonrpc":"2.0","id":null,"method":"ping"}]"#.utf8))
        return lines
    }

    private static let tokens: [String] = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud83d\\ude00", "0", "-", ".", "1e5", "true", "null", " ",
        "\r",
        "\0", "é", "9007199254740992", #""id":1,"#, #""jsonrpc":"2.0","#, #""params":{},"#, #""key":"k","#, "{}",
        "[[]]",
        #""debits":[],"#, "99999999999999999999", #""operations":[],"#, #""operation":64,"#, #""method":"atomic","#,
    ]

    private static func mutate(_ line: inout [UInt8], _ random: inout SplitMix64) {
        for _ in 0...Int.random(in: 0..<4, using: &random) {
            let at = Int.random(in: 0...line.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where at < line.count: line[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where at < line.count: line.remove(at: at)
            case 2: line.insert(contentsOf: Array(tokens.randomElement(using: &random)!.utf8), at: at)
            case 3: line.removeSubrange(at..<min(line.count, at + Int.random(in: 0..<12, using: &random)))
            case 4:
                let end = min(line.count, at + Int.random(in: 0..<24, using: &random))
                line.insert(contentsOf: Array(line[at..<end]), at: Int.random(in: 0...line.count, using: &random))
            default: line.insert(UInt8.random(in: 0...255, using: &random), at: at)
            }
        }
    }

    @Test(arguments: seeds)
    func everyRequestOfAMutatedLineHasOneAnswer(seed: UInt64) throws {
        print("FuzzTests seed \(seed)")
        var random = SplitMix64(seed: seed)
        let corpus = try Self.corpus()
        var answers: [String: Int] = [:]
        for round in 0..<20_000 {
            var line = try #require(corpus.randomElement(using: &random))
            Self.mutate(&line, &random)
            let parsed = parse(line)
            let where_ = "seed \(seed) round \(round): \(String(decoding: line, as: UTF8.self))"
            let expected: [RequestID]
            switch parsed {
            case .invalid: expected = [.null]
            case .single(let message): expected = message.id.map { [$0] } ?? []
            case .batch(let messages): expected = messages.compactMap(\.id)
            }
            let answer = parsed.answer { _ in .pong }
            if expected.isEmpty {
                #expect(answer == [], "\(where_)")
            } else {
                #expect(answer.count(where: { $0 == UInt8(ascii: "\n") }) == 1, "\(where_)")
                let reply = try ReplyLine(line: answer)
                #expect(reply.messages.map(\.id) == expected, "\(where_)")
            }
            if let error = parsed.error { answers[error.reason, default: 0] += 1 }
            check(parsed, line, where_)
        }
        // The mutations reach each reason that framing has.
        #expect(Set(answers.keys) == ["parse_error", "invalid_request", "method_not_found", "invalid_params"])
    }

    /// What Foundation reads beyond RFC 8259: a comma at the end of an object or array, and a lone surrogate.
    private static let foundationReads = ["name is missing", "element is missing", "surrogate"]

    /// What was read is JSON for Foundation too, of the same shape; what was not read is none.
    private func check(_ line: Line, _ bytes: [UInt8], _ where_: String) {
        let foundation = json(bytes)
        switch line {
        case .single(let message):
            #expect(foundation is [String: Any], "\(where_)")
            if line.request != nil { #expect(secondReading(bytes) == message, "\(where_)") }
        case .batch(let messages): #expect((foundation as? [Any])?.count == messages.count, "\(where_)")
        case .invalid(let error):
            if error.reason == "invalid_request" {
                #expect(foundation != nil && !(foundation is [String: Any]), "\(where_)")
            } else if !Self.foundationReads.contains(where: { error.message.contains($0) }) {
                #expect(foundation == nil, "\(error.message) \(where_)")
            }
        }
    }

    /// Foundation refuses a number that no Double holds, which is JSON all the same: exponents are cut to one digit,
    /// but for what looks like one in an escape (\u0e00 and a 1 behind it).
    private func json(_ bytes: [UInt8]) -> Any? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { return nil }
        let tame = text.replacing(/\\u[0-9a-fA-F]{4}|([0-9])[eE]([+-]?[0-9])[0-9]*/) { match in
            guard let digit = match.1, let exponent = match.2 else { return match.0 }
            return "\(digit)e\(exponent)"
        }
        return try? JSONSerialization.jsonObject(with: Data(tame.utf8), options: .fragmentsAllowed)
    }

    /// As `LineParser` reads a request that is not valid.
    private func secondReading(_ line: [UInt8]) -> Message? {
        line.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return try? FaultyRequest(&reader).message
        }
    }

    /// Results as a client reads them: each is read or refused, and one that is read is written as it was read.
    @Test(arguments: seeds)
    func aMutatedResultIsReadOrRefused(seed: UInt64) throws {
        print("FuzzTests seed \(seed)")
        var random = SplitMix64(seed: seed)
        let results = try Samples.results()
        var read = 0
        for round in 0..<8_000 {
            var (result, reread) = try #require(results.randomElement(using: &random))
            Self.mutate(&result, &random)
            switch reread(result) {
            case .some(true): read += 1
            case .some(false):
                Issue.record("seed \(seed) round \(round): \(String(decoding: result, as: UTF8.self))")
            case nil: break
            }
        }
        #expect(read > 0, "no mutation was harmless")
    }

    @Test func theSecondReadingOfARequestAgreesWithTheFirst() throws {
        var compared = 0
        for line in try Self.corpus() {
            guard let message = parse(line).message else { continue }
            #expect(secondReading(line) == message)
            compared += 1
        }
        #expect(compared == (try Samples.requests().count) + 4)
    }
}
