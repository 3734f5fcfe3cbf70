import LedgerTypes
import LedgerWire

/// A request as the client itself writes it, whose changing parts have fixed places and lengths, so that sending one
/// is a copy and a few digits.
struct RequestTemplate {
    private static let firstID: Int64 = 1_000_000_000
    private static let idDigits = 10
    private static let accountDigits = 7
    /// `~` is in none of the alphabets of what is sent.
    private static let keyMark = String(repeating: "~", count: KeyMaker.byteCount)
    private static let accountMark = String(repeating: "~", count: accountDigits)
    private static let jwsMark = "~JWS~"

    /// Up to where a signed transaction goes, or all of it.
    private let head: [UInt8]
    /// After the signed transaction.
    private let tail: [UInt8]
    private let idAt: Int
    private let keyAt: Int?
    private let accountAt: Int

    /// The id of request `index`.
    static func id(_ index: Int) -> Int64 { firstID + Int64(index) }

    static func account(_ wallet: Int) -> String {
        let digits = String(wallet)
        return "load-" + String(repeating: "0", count: accountDigits - digits.count) + digits
    }

    static func grant(_ currency: CurrencyCode, _ amount: Amount) -> RequestTemplate {
        RequestTemplate(
            Methods.grant,
            Grant(
                key: RequestKey(stored: keyMark), account: AccountName(stored: "load-" + accountMark),
                currency: currency, amount: amount))
    }

    static func spend(_ currency: CurrencyCode, _ amount: Amount) -> RequestTemplate {
        RequestTemplate(
            Methods.spend,
            Spend(
                key: RequestKey(stored: keyMark), account: AccountName(stored: "load-" + accountMark),
                debits: [CurrencyAmount(currency: currency, amount: amount)]))
    }

    /// - Parameter header: the header segment with its dot, the same for all purchases.
    static func credit(header: [UInt8]) -> RequestTemplate {
        RequestTemplate(
            Methods.credit,
            Credit(
                signedTransaction: header + Array(jwsMark.utf8), account: AccountName(stored: "load-" + accountMark)))
    }

    private init<Params, Result>(_ call: TypedMethod<Params, Result>, _ params: Params) {
        var writer = RequestWriter()
        writer.write(call, params, id: .integer(RequestTemplate.firstID))
        var bytes = writer.bytes
        bytes.removeLast()
        func place(_ mark: String, in bytes: [UInt8]) -> Int? {
            let mark = Array(mark.utf8)
            guard bytes.count >= mark.count else { return nil }
            return (0...bytes.count - mark.count).first { bytes[$0..<$0 + mark.count].elementsEqual(mark) }
        }
        if let jws = place(RequestTemplate.jwsMark, in: bytes) {
            head = Array(bytes[..<jws])
            tail = Array(bytes[(jws + RequestTemplate.jwsMark.utf8.count)...])
        } else {
            head = bytes
            tail = []
        }
        guard let id = place(String(RequestTemplate.firstID), in: head),
            let account = place("load-" + RequestTemplate.accountMark, in: tail.isEmpty ? head : tail)
        else { preconditionFailure("a request holds its id and account") }
        idAt = id
        keyAt = place(RequestTemplate.keyMark, in: head)
        accountAt = account + "load-".utf8.count
    }

    /// Writes one request without a line end.
    func write(_ index: Int, wallet: Int, keys: inout KeyMaker, now: Int64, to out: ByteQueue) {
        guard let start = out.room(head.count).baseAddress else { return }
        head.withUnsafeBufferPointer { bytes in
            if let base = bytes.baseAddress { start.update(from: base, count: bytes.count) }
        }
        RequestTemplate.digits(Int(RequestTemplate.id(index)), RequestTemplate.idDigits, at: start + idAt)
        if let keyAt { keys.write(to: start + keyAt, milliseconds: now) }
        RequestTemplate.digits(wallet, RequestTemplate.accountDigits, at: start + accountAt)
        out.wrote(head.count)
    }

    /// Writes one credit without a line end.
    func write(_ index: Int, wallet: Int, purchase: UnsafePointer<UInt8>, count: Int, to out: ByteQueue) {
        let total = head.count + count + tail.count
        guard let start = out.room(total).baseAddress else { return }
        head.withUnsafeBufferPointer { bytes in
            if let base = bytes.baseAddress { start.update(from: base, count: bytes.count) }
        }
        RequestTemplate.digits(Int(RequestTemplate.id(index)), RequestTemplate.idDigits, at: start + idAt)
        (start + head.count).update(from: purchase, count: count)
        let end = start + head.count + count
        tail.withUnsafeBufferPointer { bytes in
            if let base = bytes.baseAddress { end.update(from: base, count: bytes.count) }
        }
        RequestTemplate.digits(wallet, RequestTemplate.accountDigits, at: end + accountAt)
        out.wrote(total)
    }

    private static func digits(_ value: Int, _ count: Int, at text: UnsafeMutablePointer<UInt8>) {
        var rest = value
        for place in stride(from: count - 1, through: 0, by: -1) {
            text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
