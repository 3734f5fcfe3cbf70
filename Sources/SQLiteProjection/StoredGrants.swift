import Ledger

/// What a purchase granted, as its row says it.
enum StoredGrants {
    static func text(_ grants: [PurchaseRegister.Grant], _ codes: [CurrencyCode]) throws -> String {
        var text = ""
        for grant in grants {
            guard grant.currency >= 1, Int(grant.currency) <= codes.count else {
                throw StoreError.corrupt("a purchase grants currency \(grant.currency), which there is not")
            }
            if !text.isEmpty { text += " " }
            text += "\(codes[Int(grant.currency) - 1]):\(grant.units):\(grant.weight)"
        }
        return text
    }

    /// `nil` where the text was changed by other hands.
    static func grants(_ text: String, _ currency: (CurrencyCode) -> CurrencyID?) -> [PurchaseRegister.Grant]? {
        var grants: [PurchaseRegister.Grant] = []
        for part in text.split(separator: " ") {
            let fields = part.split(separator: ":")
            guard fields.count == 3, let code = CurrencyCode(String(fields[0])), let currency = currency(code),
                let units = Int64(fields[1]), units > 0, units <= Limits.amountMax,
                let weight = Int64(fields[2]), weight >= 0, weight <= Plausible.max / 256
            else { return nil }
            grants.append(PurchaseRegister.Grant(currency: currency, units: units, weight: weight))
        }
        return grants.count <= Limits.currenciesMax ? grants : nil
    }
}
