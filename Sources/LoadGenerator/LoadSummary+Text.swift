import Foundation

/// What people read.
extension LoadSummary {
    static func decimal(_ value: Double, places: Int) -> String {
        String(format: "%.\(places)f", value)
    }

    package var text: String {
        var rows: [(String, String)] = [
            ("requests", "\(result.requests) in \(number(result.seconds, 2)) s, \(result.errors) errors"),
            ("throughput", "\(number(requestsPerSecond)) requests/s"),
            (
                "latency",
                "p50 \(time(50))  p90 \(time(90))  p99 \(time(99))  p99.9 \(time(99.9))  max \(time(100))"
                    + (plan.rate == nil ? "" : "  (from when each was due)")
            ),
            (
                "line",
                "\(number(perRequest(Double(result.requestBytes)))) bytes a request, "
                    + "\(number(perRequest(Double(result.replyBytes)))) a reply"
            ),
            ("generator", "\(number(perRequest(generatorCPUSeconds * 1e6), 2)) µs CPU a request"),
        ]
        if purchasesSigned > 0 {
            rows.append(("signed before", "\(purchasesSigned) purchases in \(number(signingSeconds, 1)) s"))
        }
        if let server { rows += self.rows(server) }
        if let ledger {
            rows.append(
                (
                    "ledger",
                    "\(number(Double(ledger.bytesAfter) / 1_048_576, 1)) MiB, "
                        + "\(number(ledger.bytesPerRequest)) bytes a request"
                ))
        }
        rows += machineRows
        if let remark { rows.append(("remark", remark)) }
        let width = rows.reduce(0) { max($0, $1.0.count) }
        return rows.map { $0.0.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.1 }
            .joined(separator: "\n")
    }

    private func rows(_ server: Server) -> [(String, String)] {
        let cpu = server.after.cpuSeconds - server.before.cpuSeconds
        let written = Double(server.after.writtenBytes - server.before.writtenBytes)
        let wchar = Double(server.after.wcharBytes - server.before.wcharBytes)
        let memory = server.memory
        return [
            ("server CPU", "\(number(perRequest(cpu * 1e6), 2)) µs a request"),
            (
                "server writes",
                "\(number(perRequest(written))) bytes a request to disk, \(number(perRequest(wchar))) in write calls"
            ),
            (
                "server memory",
                "\(number(Double(memory.residentBytes) / 1_048_576)) MiB, "
                    + "at most \(number(Double(memory.residentPeakBytes) / 1_048_576)) MiB"
            ),
        ]
    }

    private var machineRows: [(String, String)] {
        let sync = machine.syncMicrosecondsP50.map { "fdatasync p50 \(number($0)) µs" } ?? "no disk measured"
        let each = machine.verificationsPerSecond.map { number($0) }.joined(separator: " before, ") + " after"
        return [
            (
                "this machine",
                "\(machine.cores) cores, \(number(machine.verificationsPerSecondPerCore)) P-256 verifications/s a core "
                    + "(\(each)), \(sync)"
            ),
            (
                "ratios",
                "\(number(requestsToVerifications, 2)) × what all cores can verify"
                    + (latencyToSync.map { ", p50 \(number($0, 2)) × one fdatasync" } ?? "")
            ),
        ]
    }

    private func time(_ percentile: Double) -> String {
        let value = microseconds(percentile)
        return value < 10_000 ? "\(number(value)) µs" : "\(number(value / 1_000, 1)) ms"
    }

    private func number(_ value: Double, _ places: Int = 0) -> String { LoadSummary.decimal(value, places: places) }
}
