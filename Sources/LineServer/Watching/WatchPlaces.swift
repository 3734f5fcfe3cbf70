/// The places of those that watch, of which there are few. Who has not asked for anything yet, as who is still at the
/// handshake of TLS or says nothing at all, gives its place to who comes: so no number of silent connections keeps an
/// operator's programs out.
struct WatchPlaces {
    typealias ID = UInt64

    private struct Place {
        let id: ID
        let peer: PeerAddress
        let close: @Sendable () -> Void
        var hasAsked = false
    }

    private let max: Int
    private var lastID: ID = 0
    /// The oldest first.
    private var places: [Place] = []

    /// - Parameter max: how many there are.
    init(max: Int) { self.max = max }

    /// Gives a connection a place. Where all are taken, it is that of a connection that has not asked for anything: of
    /// the address from which most such connections come, the oldest.
    /// - Parameters:
    ///   - peer: where it comes from.
    ///   - close: closes it, where its place goes to another.
    /// - Returns: under what it has the place, and what closes the one that had it; `nil` where each connection is
    ///   being answered.
    mutating func take(
        for peer: PeerAddress, close: @escaping @Sendable () -> Void
    ) -> (id: ID, putOut: (@Sendable () -> Void)?)? {
        var putOut: (@Sendable () -> Void)?
        if places.count >= max {
            let silent = places.indices.filter { !places[$0].hasAsked }
            let counts = Dictionary(grouping: silent) { places[$0].peer }.mapValues(\.count)
            let most = counts.values.max()
            guard let index = silent.first(where: { counts[places[$0].peer] == most }) else { return nil }
            putOut = places.remove(at: index).close
        }
        lastID += 1
        places.append(Place(id: lastID, peer: peer, close: close))
        return (lastID, putOut)
    }

    /// A connection has asked: it keeps its place until it is answered and closed.
    mutating func noteRequest(of id: ID) {
        for index in places.indices where places[index].id == id { places[index].hasAsked = true }
    }

    /// A connection is closed.
    mutating func leave(_ id: ID) { places.removeAll { $0.id == id } }
}
