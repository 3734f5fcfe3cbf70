import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Channel {
    /// Bytes that have come, and that the kernel has still (`FIONREAD`: tcp(7), unix(7)); 0 where the channel is
    /// closed. Called on its event loop.
    var unreadInputBytes: Int {
        let pipeline = pipeline.syncOperations
        let bytes = try? pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            var count: CInt = 0
            return ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
        }
        return bytes.flatMap { $0 } ?? 0
    }
}
