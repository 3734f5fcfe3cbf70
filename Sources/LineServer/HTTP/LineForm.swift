import LedgerWire

/// How what the client sends is read.
enum LineForm {
    /// Lines of the line protocol.
    case requests
    /// What the App Store posts: a notification.
    case notification

    func parse(_ line: UnsafeBufferPointer<UInt8>) -> Line {
        switch self {
        case .requests: LineParser.parse(line)
        case .notification: NotificationParser.parse(line)
        }
    }
}
