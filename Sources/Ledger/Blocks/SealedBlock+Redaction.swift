/// The redactable part: for each account of the block, in their order, a flag, the name's length, 16 bytes of salt and
/// the name (docs: BlockFormat). The body holds SHA-256(salt ‖ name), so that a name can be erased and the chain stays
/// whole.
extension SealedBlock {
    /// Names with new salts.
    static func redactable(
        of accounts: [BlockRows.AccountRow], salts: inout some RandomNumberGenerator
    ) -> [UInt8] {
        if accounts.isEmpty { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(accounts.count * (BlockForm.nameOverhead + 36))
        for row in accounts {
            guard let name = row.name else { preconditionFailure("an account is added without its name") }
            let length = name.text.utf8.count
            precondition(length >= 1 && length <= Limits.accountBytesMax, "an account's name is none")
            bytes.append(BlockForm.Name.isThere)
            bytes.append(UInt8(length))
            for _ in 0..<2 {
                withUnsafeBytes(of: salts.next()) { bytes.append(contentsOf: $0) }
            }
            bytes.append(contentsOf: name.text.utf8)
        }
        return bytes
    }

    /// The redactable part with the names and salts of some accounts erased, of the same length as before.
    ///
    /// Accounts that the block did not add are passed over, and one that is erased already stays so. With these bytes
    /// in its place nobody can tell the names any more, not even by guessing, and the block's hash is what it was.
    /// - Throws: ``BlockError`` where the block cannot be read.
    package func redactable(erasing accounts: Set<PlayerID>) throws(BlockError) -> [UInt8] {
        let added = try addedAccounts()
        var bytes = redactable
        var place = 0
        for id in added {
            guard bytes.count - place >= BlockForm.nameOverhead,
                bytes.count - place >= BlockForm.nameOverhead + Int(bytes[place + 1])
            else {
                throw BlockError(.nameMismatch, block: number, section: .accounts, "the redactable part ends too early")
            }
            let end = place + BlockForm.nameOverhead + Int(bytes[place + 1])
            if accounts.contains(id) {
                bytes[place] = BlockForm.Name.isErased
                for index in place + 2..<end { bytes[index] = 0 }
            }
            place = end
        }
        return bytes
    }
}
