package import Ledger

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#endif

extension LedgerFolder {
    /// What another user writes into a ledger's folder its service may not read: refuses another one than the owner of
    /// the log's folder, root too.
    /// - Parameters:
    ///   - user: who is about to write.
    ///   - what: what is about to write, in words.
    /// - Throws: ``LogError`` `unknown`, which names the user who may.
    package func checkIsOwn(of user: uid_t = geteuid(), for what: String) throws(LogError) {
        var status = stat()
        guard stat(log, &status) == 0 else {
            throw LogError(.unknown, "asking whose \(log) is: \(DiskError(code: errno))")
        }
        if status.st_uid == user { return }
        let owner = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "#\(status.st_uid)"
        throw LogError(
            .unknown,
            "\(log) belongs to the user \(owner), who could not read what another one writes there: run \(what) as "
                + "that user (runuser -u \(owner) -- currency-ledger …)")
    }
}
