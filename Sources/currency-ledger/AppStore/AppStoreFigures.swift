import LedgerMetrics
import LineServer

/// How far Apple's notification history of a ledger is carried out, for whoever watches.
final class AppStoreFigures: Sendable {
    /// In milliseconds since the UNIX epoch; 0 where it is not read here.
    let readThrough = Gauge()
    /// Notifications of it that wait, and those that were refused for good.
    let postponed = Gauge()
    let refused = Gauge()

    @Sendable func add(to text: inout Exposition, _ labels: [Label]) {
        let time = readThrough.value
        if time == 0 { return }
        text.add(.historyAge, .seconds(milliseconds: max(0, Clock.now() - time)), labels)
        text.add(.postponedNotifications, .count(postponed.value), labels)
        text.add(.refusedNotifications, .count(refused.value), labels)
    }
}
