import ArgumentParser

@main
struct CurrencyLedger: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "currency-ledger",
        abstract: "A double-entry ledger for consumable in-app currency.",
        discussion: """
            Credits App Store purchases exactly once from JWS that it verifies itself, debits spends atomically, \
            reverses on refund and revocation, and answers over a JSON-lines TCP protocol.
            """,
        version: Version.text,
        subcommands: [
            Create.self, Serve.self, Check.self, Reload.self, Promote.self, StepDown.self,
            Demo.self, Call.self, Export.self, Reconcile.self, BaseDate.self, Close.self,
            Import.self, Audit.self, Backup.self, Restore.self, Archive.self, Migrate.self, Rebuild.self, Project.self,
            TokenCommand.self, CatalogCommand.self, AppStoreCommand.self, Sandbox.self, Load.self,
        ])

    /// As the library's own, but what this command throws is one line with its own exit status.
    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Console.error("currency-ledger: \(failure.description)")
            exit(withError: failure.exitCode)
        } catch let error as ConfigurationError {
            Console.error("currency-ledger: \(error.description)")
            exit(withError: ExitCode.configuration)
        } catch let error as FileError {
            Console.error("currency-ledger: \(error.description)")
            exit(withError: ExitCode.failure)
        } catch {
            exit(withError: error)
        }
    }
}
