/// What a client sent on one line.
package enum Line: Hashable, Sendable {
    case single(Message)
    /// 1 … ``WireLimits/batchRequestsMax`` messages, answered by one line in the same order, without those that have
    /// no id; by no line where none has.
    case batch([Message])
    /// No request could be made out, or the batch as a whole is refused: answered with the id null.
    case invalid(WireError)
}
