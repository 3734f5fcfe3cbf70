public import AppStore
internal import StrictJSON

/// Which notifications to list.
public struct NotificationHistoryQuery: Hashable, Sendable {
    /// What limits them: Apple takes one such limit.
    public enum Filter: Hashable, Sendable {
        /// Of one type, and perhaps of one subtype.
        case type(NotificationPayload.NotificationType, subtype: NotificationPayload.Subtype? = nil)
        /// About one customer: any transaction of theirs.
        case transactionID(String)
    }

    /// From this time on, in milliseconds since the UNIX epoch; within the last 180 days, in the sandbox 30.
    public var startDate: Int64
    /// Before this time, in milliseconds since the UNIX epoch. One in the future counts as now.
    public var endDate: Int64
    /// Of all notifications, those that it lets through.
    public var filter: Filter?
    /// Only those that did not arrive yet.
    public var onlyFailures: Bool

    /// What was sent within a time.
    public init(startDate: Int64, endDate: Int64, filter: Filter? = nil, onlyFailures: Bool = false) {
        self.startDate = startDate
        self.endDate = endDate
        self.filter = filter
        self.onlyFailures = onlyFailures
    }

    /// Apple's `NotificationHistoryRequest`.
    func json() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("startDate", startDate)
        writer.member("endDate", endDate)
        switch filter {
        case nil: break
        case .type(let type, let subtype):
            writer.member("notificationType", type.rawValue)
            writer.member("notificationSubtype", subtype?.rawValue)
        case .transactionID(let id): writer.member("transactionId", id)
        }
        if onlyFailures { writer.member("onlyFailures", true) }
        writer.endObject()
        return writer.bytes
    }
}
