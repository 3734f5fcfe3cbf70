import Foundation
import GRDB
import Testing

@testable import SQLiteProjection

/// Rows inserted sixteen to a statement, and the rest one by one. The table has the names of `request`, with columns
/// of every type.
@Suite struct RowInsertionTests {
    private struct Line: Hashable {
        var id: Int64
        var text: String?
        var blob: [UInt8]
        var number: Int64?
    }

    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE request (key INTEGER PRIMARY KEY CHECK (key <> 20), fingerprint TEXT,
                        entry BLOB NOT NULL, answer INTEGER) STRICT
                    """)
        }
    }

    private func insert(_ lines: [Line]) throws {
        try queue.writeWithoutTransaction { db in
            let insertion = try RowInsertion(db, into: .request)
            var sums = TableSums()
            try insertion.run(lines, &sums) { parameters, line in
                parameters.bind(1, line.pointee.id)
                parameters.bind(2, line.pointee.text)
                parameters.bind(3, line.pointee.blob[...])
                parameters.bind(4, line.pointee.number)
            }
            #expect(sums[.request] == (try TableSum(db, .request)))
            #expect(sums[.request].rows == lines.count)
        }
    }

    /// As they are in the table, in the order in which they came into it where `ordered` is the order of the ids.
    private func stored() throws -> [Line] {
        try queue.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM request ORDER BY key").map {
                Line(
                    id: $0["key"], text: $0["fingerprint"], blob: [UInt8]($0["entry"] as Data),
                    number: $0["answer"])
            }
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 33, 100])
    func everyRowIsWhatWasBoundHoweverManyThereAre(count: Int) throws {
        let lines = (0..<count).map { index in
            Line(
                id: Int64(1_000 + index),
                text: index % 3 == 0 ? nil : String(repeating: "ü\(index)", count: index % 7),
                blob: [UInt8](repeating: UInt8(index), count: index % 5), number: index % 2 == 0 ? nil : -Int64(index))
        }
        try insert(lines)
        #expect(try stored() == lines)
    }

    @Test func whatDoesNotFitTheMemoryIsBoundAllTheSame() throws {
        let lines = (1...16).map { index in
            Line(
                id: Int64(100 + index), text: String(repeating: "t", count: 900 * index),
                blob: [UInt8](repeating: UInt8(index), count: 40_000 / index), number: 1)
        }
        try insert(lines)
        #expect(try stored() == lines)
    }

    @Test func aRowThatIsRefusedFailsItsStatementWhole() throws {
        let lines = (1...32).map { Line(id: Int64($0), text: "t", blob: [], number: nil) }
        let error = #expect(throws: DatabaseError.self) { try insert(lines) }
        #expect(error?.resultCode == .SQLITE_CONSTRAINT)
        // The sixteen before; the transaction around takes them back where there is one.
        #expect(try stored().map(\.id) == Array(1...16))
    }
}
