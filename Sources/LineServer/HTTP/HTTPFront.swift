import NIOCore
import NIOHTTP1

/// What games, the App Store and an operator's probes are offered: requests of the line protocol and notifications by
/// POST, and the pages of health by GET.
///
/// Each request shows by itself who sends it. So a load balancer may send those of many clients on one connection.
struct HTTPFront: HTTPApplication {
    let limits: ServerLimits
    let watch: Watch
    /// By which names clients may ask; `nil` where these are no matter.
    let hosts: LocalHosts?

    init(_ services: ConnectionServices, hosts: LocalHosts?) {
        limits = services.limits
        watch = services.watch
        self.hosts = hosts
    }

    func begin(
        _ head: HTTPRequestHead, on connection: ConnectionHandler
    ) throws(HTTPRefusal) -> any HTTPExchange {
        switch try HTTPRoute.read(head, limits, for: hosts).get() {
        case .page(let page):
            return PageExchange(
                page, of: watch, method: head.method, isKeptAlive: head.isFollowed, bodyBytesMax: limits.headBytesMax)
        case .line(let route, let credential):
            let headers = route.isTraced ? head.headers : nil
            if let error = connection.begin(route.form, from: credential, headers) {
                var refusal = HTTPRefusal(of: error)
                // Who shows what nobody has, or finds no place under its name, has a line of its own.
                refusal.isNoted = [.unknownToken, .overloaded].contains(error)
                throw refusal
            }
            return LineExchange(route, isKeptAlive: head.isFollowed, limits)
        }
    }
}
