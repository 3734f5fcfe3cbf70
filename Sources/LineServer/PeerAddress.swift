import NIOCore

/// Where a connection comes from, as far as one customer of a network can be told from another.
enum PeerAddress: Hashable, Sendable {
    /// A Unix-domain socket.
    case local
    case v4(UInt32)
    /// The network of an address of IPv6: a customer is given 64 bits of it (RFC 6177), and has every address in it.
    case v6(network: UInt64)

    /// - Parameter address: `nil` of a peer that is gone already.
    init(_ address: SocketAddress?) {
        switch address {
        case .v4(let v4): self = .v4(UInt32(bigEndian: v4.address.sin_addr.s_addr))
        case .v6(let v6):
            self = withUnsafeBytes(of: v6.address.sin6_addr) { bytes in
                let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
                let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                // An address of IPv4 on a socket that takes both (RFC 4291 §2.5.5.2): ::ffff:a.b.c.d.
                return high == 0 && low >> 32 == 0xffff ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(network: high)
            }
        case .unixDomainSocket, nil: self = .local
        }
    }
}
