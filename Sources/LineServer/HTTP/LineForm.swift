import LedgerWire

/// How what the client sends is read.
enum LineForm {
    /// Lines of the line protocol.
    case requests
    /// What the App Store posts: a notification.
    case notification

    /// Bytes that a long one takes of the memory before the rest of it is read.
    func longLineBytesMax(_ limits: ServerLimits) -> Int {
        switch self {
        case .requests: limits.longLineBytesMax
        case .notification: limits.notificationRoomBytes
        }
    }

    /// Reads on.
    /// - Returns: the line; `nil` where there is more of it to be read (``LineParser``).
    func parse(_ line: UnsafeBufferPointer<UInt8>, by parser: inout LineParser, requestsMax: Int) -> Line? {
        switch self {
        case .requests: parser.parse(line, requestsMax: requestsMax)
        case .notification: NotificationParser.parse(line)
        }
    }
}
