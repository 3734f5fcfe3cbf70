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
    package var limits: ServerLimits

    package init(listen: [ServerAddress], tokens: [Token] = [], limits: ServerLimits = ServerLimits()) {
        self.listen = listen
        self.tokens = tokens
        self.limits = limits
    }
}
