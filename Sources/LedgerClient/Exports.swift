// Users of this library name accounts, currencies, receipts and errors: one import gives them all.
@_exported public import LedgerWire
