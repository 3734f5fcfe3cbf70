import LedgerTypes
import StrictJSON

extension JSONWriter {
    /// The member `params`, where the method has any; optional members are left out where they are not given.
    mutating func params(of request: Request) {
        switch request {
        case .ping, .info:
            return
        case .authenticate(let token):
            params { $0.member("token", token) }
        case .credit(let transaction, let account):
            params { writer in
                writer.key("signedTransaction")
                transaction.withUnsafeBufferPointer { writer.string(utf8: $0) }
                writer.member("account", account?.text)
            }
        case .notify(let payload, let account):
            params { writer in
                writer.key("signedPayload")
                payload.withUnsafeBufferPointer { writer.string(utf8: $0) }
                writer.member("account", account?.text)
            }
        case .purchase(let transaction):
            params { $0.member("transactionId", transaction.description) }
        case .consumption(let query):
            params { $0.members(query) }
        case .spend(let spend):
            params { $0.members(spend, .alone) }
        case .reverse(let reversal):
            params { $0.members(reversal, .alone) }
        case .hold(let hold):
            params { $0.members(hold, .alone) }
        case .capture(let capture):
            params { $0.members(capture, .alone) }
        case .release(let release):
            params { $0.members(release, .alone) }
        case .grant(let grant):
            params { $0.members(grant, .alone) }
        case .atomic(let atomic):
            params { $0.members(atomic) }
        case .balance(let account, let currency, let asOf):
            params { writer in
                writer.member("account", account.text)
                writer.member("currency", currency?.text)
                writer.member("asOf", asOf)
            }
        case .history(let query):
            params { writer in
                writer.member("account", query.account.text)
                writer.member("currency", query.currency?.text)
                writer.member("limit", Int64(query.limit))
                writer.member("before", query.before)
            }
        case .report(let kind, let asOf, let currency, let limit, let after):
            params { writer in
                writer.member("kind", kind.rawValue)
                writer.member("asOf", asOf)
                writer.member("currency", currency?.text)
                writer.member("limit", Int64(limit))
                writer.member("after", after)
            }
        case .journal(let query, let wait):
            params { writer in
                writer.member("after", query.after)
                writer.member("limit", Int64(query.limit))
                writer.member("waitMilliseconds", wait)
            }
        case .forget(let account):
            params { $0.member("account", account.text) }
        }
    }

    mutating func params(_ members: (inout JSONWriter) -> Void) {
        key("params")
        beginObject()
        members(&self)
        endObject()
    }

    private mutating func members(_ query: ConsumptionQuery) {
        member("transactionId", query.transaction.description)
        key("customerConsented")
        bool(true)
        key("sampleContentProvided")
        bool(query.sampleContentProvided)
        member("deliveryStatus", query.deliveryStatus?.rawValue)
        member("refundPreference", query.refundPreference?.rawValue)
    }

    mutating func members(_ amount: CurrencyAmount) {
        member("currency", amount.currency.text)
        member("amount", amount.amount.units)
    }

    mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    mutating func member(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        key(name)
        integer(value)
    }
}
