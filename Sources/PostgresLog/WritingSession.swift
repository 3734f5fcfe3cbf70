#if Postgres
import Ledger

/// A session that may write. What another transaction was in the way of is carried out again, and where a synchronous
/// standby is required a commit waits for it.
final class WritingSession {
    private let connection: PostgresConnection
    private let configuration: PostgresLogConfiguration
    private let schema: PostgresSchema

    init(_ configuration: PostgresLogConfiguration, _ schema: PostgresSchema) throws(PostgresFault) {
        self.configuration = configuration
        self.schema = schema
        connection = try PostgresConnection(configuration.settings(writing: true))
        try connection.run(configuration.beginning(writing: true), milliseconds: configuration.answerMilliseconds)
    }

    /// Carries out statements that answer nothing.
    func run(_ text: String) throws(PostgresFault) {
        try connection.run(text, milliseconds: configuration.answerMilliseconds)
    }

    /// Carries out statements in one transaction, all of them or none, and from the beginning again where another
    /// transaction was in their way.
    func transaction(_ body: () throws(PostgresFault) -> Void) throws(PostgresFault) {
        try again { () throws(PostgresFault) in
            try connection.beginTransaction(milliseconds: configuration.answerMilliseconds)
            do throws(PostgresFault) {
                try body()
                try connection.commitTransaction(milliseconds: configuration.answerMilliseconds)
            } catch {
                connection.endTransaction(milliseconds: configuration.answerMilliseconds)
                throw error
            }
        }
    }

    /// Carries out a statement that changes a row. Where a synchronous standby is required, it has the change when this
    /// returns.
    func commit(
        _ statement: PostgresConnection.Statement, _ values: [PostgresConnection.Value]
    ) throws(PostgresFault) -> PostgresRows {
        guard configuration.requireSynchronousStandby else { return try run(statement, values) }
        let (rows, replication) = try again { () throws(PostgresFault) in
            try connection.run(
                statement, values, then: schema.replication, milliseconds: configuration.answerMilliseconds)
        }
        if rows.changed > 0 { try awaitStandby(replication) }
        return rows
    }

    /// Waits until a synchronous standby has everything that was committed here before, where one is required.
    func awaitStandby() throws(PostgresFault) {
        guard configuration.requireSynchronousStandby else { return }
        try awaitStandby(try replication())
    }

    /// Waits until a synchronous standby has everything that was durable here when the server was asked.
    ///
    /// That a commit returned does not say it: whoever empties `synchronous_standby_names` while commits wait has all
    /// of them return with success and without a warning. Where commits waited as they have to, the standby has at
    /// least that commit, and at most what others committed just now is on its way.
    /// - Parameter replication: asked behind the commit.
    /// - Throws: ``PostgresFault`` `warned` where none has it.
    private func awaitStandby(_ replication: PostgresRows) throws(PostgresFault) {
        let hasAll = try schema.awaitStandby(replication) { () throws(PostgresFault) in try self.replication() }
        guard hasAll else {
            throw PostgresFault(.warned, "a synchronous standby is required, and none has what was committed")
        }
    }

    private func replication() throws(PostgresFault) -> PostgresRows {
        try PostgresFault.behindCommit { () throws(PostgresFault) in try run(schema.replication) }
    }

    /// Carries out a statement.
    func run(
        _ statement: PostgresConnection.Statement,
        _ values: [PostgresConnection.Value] = []
    ) throws(PostgresFault) -> PostgresRows {
        try again { () throws(PostgresFault) in
            try connection.run(statement, values, milliseconds: configuration.answerMilliseconds)
        }
    }

    /// Carries something out, and again where another transaction was in its way. What is carried out within a
    /// transaction is again only with all of that.
    private func again<Answer>(_ body: () throws(PostgresFault) -> Answer) throws(PostgresFault) -> Answer {
        var attempts = 1
        while true {
            do throws(PostgresFault) {
                return try body()
            } catch {
                guard error.isOfTwoTransactions, !connection.isInTransaction,
                    attempts < PostgresLogLimits.attemptsMax
                else { throw error }
                attempts += 1
            }
        }
    }
}
#endif
