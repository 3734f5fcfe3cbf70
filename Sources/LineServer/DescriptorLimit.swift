#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How many files and sockets the process may have open.
package enum DescriptorLimit {
    /// Raises the process's own limit to the most that the system allows it, and gives that.
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        let hard = limit.rlim_max
        if limit.rlim_cur < hard {
            limit.rlim_cur = hard
            // The hard limit can be above what the kernel gives to any process (fs.nr_open); then the old one stays.
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 {
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            }
        }
        return Int(clamping: limit.rlim_cur)
    }
}

extension ServerLimits {
    /// Descriptors without which no connection could be served.
    private var descriptorsBesidePlaces: Int { refusedConnectionsMax + reservedDescriptors }

    /// These limits where the process may have `descriptors` open: with fewer places where they would not suffice, so
    /// that what is not a connection never lacks one.
    /// - Throws: ``ServerError`` where no place would be left.
    package func fitting(descriptors: Int) throws(ServerError) -> ServerLimits {
        let places = descriptors - descriptorsBesidePlaces
        guard places < connectionsMax else { return self }
        guard places > 0 else {
            throw ServerError(
                .unavailable,
                """
                the process may have \(descriptors) files open, and needs \(descriptorsBesidePlaces) besides its \
                connections: raise its limit (ulimit -n, or LimitNOFILE of systemd)
                """)
        }
        var fitting = self
        fitting.connectionsMax = places
        fitting.unauthenticatedMax = min(unauthenticatedMax, max(1, places / 2))
        fitting.unauthenticatedPerAddressMax = min(unauthenticatedPerAddressMax, max(1, fitting.unauthenticatedMax / 2))
        fitting.connectionsPerNameMax = min(connectionsPerNameMax, max(1, places / 2))
        fitting.connectionsKeptMax = min(connectionsKeptMax, places / 4)
        return fitting
    }
}
