// Requests, receipts and errors name accounts, currencies and amounts: who imports the wire has them too. There is no
// other way to re-export a module whose types stand in one's own API.
@_exported public import LedgerTypes
