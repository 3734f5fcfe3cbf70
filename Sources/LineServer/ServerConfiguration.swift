package import LedgerWire

/// What the composition tells the server.
package struct ServerConfiguration: Sendable {
    /// A token and the role it gives.
    package struct Token: Sendable {
        package var token: String
        package var role: Role

        package init(token: String, role: Role) {
            self.token = token
            self.role = role
        }
    }

    package var listen: [ServerAddress]
    /// Without any, only this machine may connect, and everyone has every role.
    package var tokens: [Token]
    /// The mode of a Unix-domain socket's file: who may write it may connect.
    package var socketMode: UInt32
    package var limits: ServerLimits

    /// By default the service's user and group may connect to a Unix-domain socket.
    package static let socketModeDefault: UInt32 = 0o660

    package init(
        listen: [ServerAddress], tokens: [Token] = [], socketMode: UInt32 = socketModeDefault,
        limits: ServerLimits = ServerLimits()
    ) {
        self.listen = listen
        self.tokens = tokens
        self.socketMode = socketMode
        self.limits = limits
    }
}
