internal import AppStore
internal import AppStoreServer
internal import StrictJSON

/// What a simulator knows: everything that its file's lines say.
struct SimulatorState {
    /// The app whose purchases they are; `nil` of an empty file.
    private(set) var app: String?
    /// By transaction id.
    private(set) var purchases: [String: Purchase] = [:]
    /// The transactions of each customer, in the order of their purchases.
    private(set) var transactionsOfCustomer: [String: [String]] = [:]
    /// The transactions of each original transaction, itself among them, in the order of their purchases.
    private(set) var transactionsOfOriginal: [String: [String]] = [:]
    /// The customers by the id of their download of the app.
    private(set) var customers: [String: String] = [:]
    /// In the order in which they were made.
    private(set) var notifications: [SimulatedNotification] = []
    /// Their places in `notifications`, by UUID.
    private(set) var places: [String: Int] = [:]
    private var lastTransactionID = SimulatorState.firstTransactionID - 1

    /// As in the sandbox, where ids begin with a 2.
    private static let firstTransactionID: Int64 = 2_000_000_000_000_001
    private static let firstAppTransactionID: Int64 = 704_000_000_000_000_001

    /// The id of the next transaction.
    var nextTransactionID: String { String(lastTransactionID + 1) }

    /// The id of a customer's download of the app: one for each customer.
    func appTransactionID(of customer: String) -> String {
        if let id = transactionsOfCustomer[customer]?.first, let known = purchases[id]?.transaction.appTransactionID {
            return known
        }
        return String(SimulatorState.firstAppTransactionID + Int64(customers.count))
    }

    func notification(_ uuid: String) -> SimulatedNotification? { places[uuid].map { notifications[$0] } }

    // MARK: Changes

    /// A new purchase, or another state of one.
    mutating func place(_ purchase: Purchase) {
        let id = purchase.id
        guard purchases.updateValue(purchase, forKey: id) == nil else { return }
        transactionsOfCustomer[purchase.customer, default: []].append(id)
        transactionsOfOriginal[purchase.originalID, default: []].append(id)
        if let app = purchase.transaction.appTransactionID { customers[app] = purchase.customer }
        lastTransactionID = max(lastTransactionID, Int64(id) ?? 0)
    }

    /// Notes when a purchase was signed last: what changes within the same millisecond is signed later.
    mutating func noteSigning(of id: String, at date: Int64) { purchases[id]?.transaction.signedDate = date }

    mutating func add(_ notification: SimulatedNotification) {
        places[notification.uuid] = notifications.count
        notifications.append(notification)
    }

    mutating func add(_ attempt: SimulatedNotification.Attempt, of uuid: String) {
        guard let place = places[uuid] else { preconditionFailure("an attempt of no notification") }
        notifications[place].attempts.append(attempt)
    }

    // MARK: In the file

    private static let format: Int64 = 1

    /// The file's first line.
    static func head(_ app: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("simulator", format)
        writer.member("bundleId", app)
        writer.endObject()
        writer.newline()
        return writer.bytes
    }

    /// A line with a purchase as it stands.
    static func line(_ purchase: Purchase) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.beginObject()
        writer.key("purchase")
        purchase.write(&writer)
        writer.endObject()
        writer.newline()
        return writer.bytes
    }

    /// Has what a line says.
    /// - Parameter start: where the line begins in the file.
    mutating func read(_ line: [UInt8], at start: Int) throws(JSONError) {
        if app == nil {
            app = try JSONBody.read(line, SimulatorState.readHead)
            return
        }
        try JSONBody.read(line) { (reader) throws(JSONError) in
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "purchase": place(try Purchase(&reader))
                case "notification": add(try SimulatedNotification(&reader, at: start))
                case "attempt":
                    let (uuid, attempt) = try SimulatedNotification.readAttempt(&reader)
                    guard places[uuid] != nil else { throw reader.fail("is of no notification") }
                    add(attempt, of: uuid)
                default: throw reader.failAtNext("is nothing that a simulator writes")
                }
            }
        }
    }

    private static func readHead(_ reader: inout JSONReader) throws(JSONError) -> String {
        var app: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "simulator":
                guard try reader.integer() == format else { throw reader.fail("is another version's") }
            case "bundleId": app = try reader.string()
            default: throw reader.failAtNext("is not a member of a simulator's first line")
            }
        }
        guard let app else { throw reader.missing("bundleId") }
        return app
    }
}
