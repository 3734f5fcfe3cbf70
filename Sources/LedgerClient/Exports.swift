// Users of this library name accounts, currencies, receipts and errors: one import gives them all. There is no other way to
// re-export a module whose types stand in one's own public API.
@_exported public import Ledger
@_exported public import LedgerWire
