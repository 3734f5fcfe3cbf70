package import LedgerEngine
package import LedgerWire

/// Passes on to the node that leads what clients of this one ask, which may not carry it out itself.
package protocol LeaderRelay: Sendable {
    /// Where the ledger is led now.
    var place: LeadPlace { get }

    /// What one client of one connection asks, in its order.
    /// - Parameters:
    ///   - client: in whose name it asks (``Authentication/client``); `nil` where nobody needs a token.
    ///   - outlet: where replies are delivered.
    ///   - deliver: told the next replies, in the order of the requests.
    func session(
        for client: String?, outlet: Outlet, deliver: @escaping @Sendable ([Reply]) -> Void
    ) -> any LeaderRelaySession
}

/// What one client asks of the node that leads.
package protocol LeaderRelaySession: Sendable {
    /// Takes requests over, once all have their replies that it was handed before. Each has one reply.
    func submit(_ requests: [LedgerRequest])

    /// For so long only what no node has carried out is asked again. What is under way is answered.
    func giveUp(afterMilliseconds milliseconds: Int64)

    /// The client is gone: nothing is delivered any more, and what was not sent yet is not sent.
    func close()
}
