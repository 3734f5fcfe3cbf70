#if Postgres
package import Ledger

extension PostgresLog {
    /// Whose ledger is there; `nil` where there is none.
    /// - Throws: ``LogError``: `corrupt` where what is there does not say it, `unknown` where the server cannot be
    ///   reached.
    package static func identity(
        _ configuration: PostgresLogConfiguration, hash: @escaping HashFunction
    ) throws(LogError) -> Digest? {
        let schema = PostgresSchema(name: configuration.schema)
        let reader = PostgresReader(configuration, schema, hash: hash)
        do throws(PostgresFault) {
            let rows = try reader.run(schema.ledger)
            guard rows.count == 1, let identity = Digest(Array(rows.bytes(0, 1))) else {
                throw PostgresFault(.decided(.corrupt), "its table ledger does not say whose it is")
            }
            return identity
        } catch {
            switch error.code {
            case PostgresCode.undefinedTable, PostgresCode.undefinedSchema: return nil
            default: throw error.reading("opening the schema \(schema.name)")
            }
        }
    }
}
#endif
