#if Postgres
import Ledger
import LedgerTestKit
import PostgresLog
import Testing

@Suite struct PostgresContractTests {
    @Test(arguments: BlockLogContract.rules)
    func aLogInPostgreSQLKeepsTheContract(rule: BlockLogContract) throws {
        let ledger = try TestLedger()
        try rule.check { try ledger.open() }
    }

    @Test(arguments: BlockLogContract.rules)
    func aLogInSmallPartitionsKeepsTheContract(rule: BlockLogContract) throws {
        let ledger = try TestLedger(partitionBlocks: 7)
        try rule.check { try ledger.open() }
    }
}
#endif
