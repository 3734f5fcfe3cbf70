import LedgerWire

/// A row of a report of the ledger's, where Apple's reports have rows too.
typealias LedgerLine = ReportLine
