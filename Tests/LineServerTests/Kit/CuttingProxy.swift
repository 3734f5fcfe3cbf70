import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Stands between clients and a server, and cuts each connection after a random number of bytes in either direction,
/// most often in the middle of a line.
final class CuttingProxy: Sendable {
    /// Bytes that may pass until the cut.
    struct Budgets {
        var up: Int
        var down: Int
    }

    struct Seen {
        var connections = 0
        var cuts = 0
        fileprivate var random: SplitMix64
    }

    let address: ServerAddress
    private let channel: any Channel
    private let state: NIOLockedValueBox<Seen>

    var seen: Seen { state.withLockedValue { $0 } }

    /// - Parameter bytesMax: up to so many bytes pass in one direction; one connection in five is cut within its first
    ///   requests.
    init(to server: ServerAddress, seed: UInt64, bytesMax: Int) async throws {
        guard case .tcp(let host, let port) = server else { preconditionFailure("the proxy speaks TCP") }
        let state = NIOLockedValueBox(Seen(random: SplitMix64(seed: seed)))
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                let budgets = state.withLockedValue { state in
                    state.connections += 1
                    let bound = state.random.chance(20) ? 600 : bytesMax
                    return Budgets(
                        up: .random(in: 1...bound, using: &state.random),
                        down: .random(in: 1...bound, using: &state.random))
                }
                return CuttingProxy.join(client, host, port, budgets) { state.withLockedValue { $0.cuts += 1 } }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.state = state
        guard let bound = channel.localAddress?.port else { preconditionFailure("a bound socket has a port") }
        address = .tcp(host: "127.0.0.1", port: bound)
    }

    func stop() async throws { try await channel.close() }

    /// Both sides of a connection live on one event loop.
    private static func join(
        _ client: any Channel, _ host: String, _ port: Int, _ budgets: Budgets, cut: @escaping @Sendable () -> Void
    ) -> EventLoopFuture<Void> {
        ClientBootstrap(group: client.eventLoop)
            .channelOption(.autoRead, value: false)
            .connect(host: host, port: port)
            .flatMap { server in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandler(Relay(to: server, budget: budgets.up, cut: cut))
                    try server.pipeline.syncOperations.addHandler(Relay(to: client, budget: budgets.down, cut: cut))
                }
                .flatMap {
                    client.setOption(.autoRead, value: true).and(server.setOption(.autoRead, value: true)).map { _ in }
                }
            }
    }
}

/// Passes on what comes from one side, until its budget is used up. Touched on its event loop only.
private final class Relay: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let other: any Channel
    private var budget: Int
    private let cut: @Sendable () -> Void

    init(to other: any Channel, budget: Int, cut: @escaping @Sendable () -> Void) {
        self.other = other
        self.budget = budget
        self.cut = cut
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard budget > 0 else { return }
        var bytes = unwrapInboundIn(data)
        guard let passing = bytes.readSlice(length: min(budget, bytes.readableBytes)) else { return }
        budget -= passing.readableBytes
        let written = other.writeAndFlush(passing)
        guard budget == 0 else { return }
        cut()
        let channel = context.channel
        // What was let through arrives; everything after it is lost, in both directions.
        written.whenComplete { [other] _ in
            other.close(promise: nil)
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
