import LedgerWire

/// Values that stand for any of their kind.
enum Samples {
    /// Who a connection is that has sent the right token.
    static let game = Identity(name: "game-1", roles: [.game])
}
