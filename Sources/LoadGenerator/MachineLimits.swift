import AppStore
import Foundation

/// What the machine itself can do, measured in the same run: the yardstick of everything else.
struct MachineLimits {
    var cores: Int
    /// OpenSSL's own `ECDSA_do_verify` on P-256, one thread.
    var verificationsPerSecond: [Double]
    /// Sorted times of a write of 4 KiB and fdatasync(2) in the ledger's directory, to a file that was written ahead,
    /// as the log's segments are: the write overwrites bytes that are allocated.
    var syncNanoseconds: [Int64]

    private static let syncCount = 200
    private static let syncBytes = 4_096
    private static let verifySeconds = 1.0
    private static let verifyStep = 500

    init() {
        cores = ProcessInfo.processInfo.activeProcessorCount
        verificationsPerSecond = []
        syncNanoseconds = []
    }

    /// The mean of what was measured before and after the load.
    var verificationsPerSecondPerCore: Double {
        verificationsPerSecond.reduce(0, +) / Double(max(1, verificationsPerSecond.count))
    }

    var syncMicrosecondsP50: Double? {
        syncNanoseconds.isEmpty ? nil : Double(syncNanoseconds[syncNanoseconds.count / 2]) / 1_000
    }

    /// Measures once more.
    /// - Parameter folder: where the ledger's file is; without it nothing is written.
    mutating func measure(folder: String?) throws {
        verificationsPerSecond.append(try MachineLimits.verify())
        if let folder { syncNanoseconds = try (syncNanoseconds + MachineLimits.sync(in: folder)).sorted() }
    }

    private static func verify() throws -> Double {
        let check = try PlainSignatureCheck()
        guard check.run(verifyStep) == verifyStep else { throw LoadError(.machine, "OpenSSL refuses a good signature") }
        let start = LoadClock.nanoseconds()
        var done = 0
        var elapsed: Int64 = 0
        while Double(elapsed) < verifySeconds * 1e9 {
            done += check.run(verifyStep)
            elapsed = LoadClock.nanoseconds() - start
        }
        return Double(done) * 1e9 / Double(elapsed)
    }

    private static func sync(in folder: String) throws -> [Int64] {
        let path = folder + "/currency-ledger-load-\(UUID().uuidString)"
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600)
        guard descriptor >= 0 else { throw LoadError(.machine, "cannot write in \(folder): \(LoadSocket.reason())") }
        defer {
            close(descriptor)
            unlink(path)
        }
        func write(_ bytes: [UInt8], at place: Int) throws {
            guard pwrite(descriptor, bytes, bytes.count, place * bytes.count) == bytes.count else {
                throw LoadError(.machine, "cannot write in \(folder): \(LoadSocket.reason())")
            }
        }
        func sync() throws {
            guard fdatasync(descriptor) == 0 else {
                throw LoadError(.machine, "cannot sync in \(folder): \(LoadSocket.reason())")
            }
        }
        for place in 0..<syncCount { try write([UInt8](repeating: 0, count: syncBytes), at: place) }
        try sync()
        let bytes = [UInt8](repeating: 0x5A, count: syncBytes)
        return try (0..<syncCount).map { place in
            let start = LoadClock.nanoseconds()
            try write(bytes, at: place)
            try sync()
            return LoadClock.nanoseconds() - start
        }
    }
}
