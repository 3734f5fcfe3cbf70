// The books speak in these types: who imports the books has them, and every file of this module too.
@_exported public import LedgerTypes
