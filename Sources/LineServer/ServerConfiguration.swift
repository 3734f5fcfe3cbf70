package import LedgerWire
import NIOCore

/// What the composition tells the server.
package struct ServerConfiguration: Sendable {
    /// Who may do what.
    package enum Access: Sendable {
        /// Whoever can connect may do everything, and only this machine can.
        case everyoneOnThisMachine
        /// Whoever sends one of them, what it may.
        case tokens([Token])
    }

    package var listen: [ServerAddress]
    package var access: Access
    /// The mode of a Unix-domain socket's file: who may write it may connect.
    package var socketMode: UInt32
    package var limits: ServerLimits
    /// Nanoseconds that never go back, by which requests of a second are counted.
    package var clock: @Sendable () -> UInt64

    /// By default the service's user and group may connect to a Unix-domain socket.
    package static let socketModeDefault: UInt32 = 0o660

    package init(
        listen: [ServerAddress], access: Access, socketMode: UInt32 = socketModeDefault,
        limits: ServerLimits = ServerLimits(),
        clock: @escaping @Sendable () -> UInt64 = { NIODeadline.now().uptimeNanoseconds }
    ) {
        self.listen = listen
        self.access = access
        self.socketMode = socketMode
        self.limits = limits
        self.clock = clock
    }
}
