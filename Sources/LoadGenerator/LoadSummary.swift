import StrictJSON

/// What a run found. Values that were not measured are `nil`.
package struct LoadSummary {
    var plan: LoadPlan
    package var result: PhaseResult
    var credits: Int
    var spends: Int
    /// Before the clock started.
    var purchasesSigned = 0
    var signingSeconds = 0.0
    var generatorCPUSeconds: Double
    var machine: MachineLimits
    var server: Server?
    var ledger: LedgerSize?
    /// What the reader should know of how the run ended.
    var remark: String?

    struct Server {
        var pid: Int32
        var before: ServerProbe.Counters
        var after: ServerProbe.Counters
        var memory: ServerProbe.Memory
    }

    struct LedgerSize {
        var path: String
        var bytesBefore: Int64
        var bytesAfter: Int64
        /// Requests between the two, with those of the warm-up.
        var requests: Int
    }

    var requestsPerSecond: Double { result.seconds > 0 ? Double(result.requests) / result.seconds : 0 }

    /// Requests to what all cores together could verify.
    var requestsToVerifications: Double {
        requestsPerSecond / (machine.verificationsPerSecondPerCore * Double(machine.cores))
    }

    /// The median latency to the median fdatasync.
    var latencyToSync: Double? { machine.syncMicrosecondsP50.map { microseconds(50) / $0 } }

    /// A percentile of the latency; 100 is the longest.
    func microseconds(_ percentile: Double) -> Double {
        guard result.requests > 0 else { return 0 }
        let nanoseconds =
            percentile >= 100 ? result.latency.max : result.latency.valueAtPercentile(percentile)
        return Double(nanoseconds) / 1_000
    }

    func perRequest(_ value: Double) -> Double { result.requests > 0 ? value / Double(result.requests) : 0 }
}

/// The JSON object of `--json`: its names stay as they are.
extension LoadSummary {
    package var json: [UInt8] {
        var writer = JSONWriter(capacity: 2_048)
        writer.object {
            $0.member("workload", plan.workload.rawValue)
            $0.member("connections", plan.connections)
            $0.member("inFlight", plan.inFlight)
            $0.member("batch", plan.batch)
            $0.member("wallets", plan.wallets)
            $0.member("firstWallet", plan.firstWallet)
            $0.member("keys", plan.keys.rawValue)
            $0.member("rate", plan.rate)
            $0.member("seed", text: String(plan.seed))
            $0.member("warmup", plan.warmup)
            $0.member("requests", result.requests)
            $0.member("credits", credits)
            $0.member("spends", spends)
            $0.member("errors", result.errors)
            $0.member("seconds", result.seconds)
            $0.member("requestsPerSecond", requestsPerSecond)
            $0.key("latencyMicroseconds")
            $0.object {
                $0.member("p50", microseconds(50))
                $0.member("p90", microseconds(90))
                $0.member("p99", microseconds(99))
                $0.member("p99_9", microseconds(99.9))
                $0.member("max", microseconds(100))
            }
            $0.member("requestBytes", perRequest(Double(result.requestBytes)))
            $0.member("replyBytes", perRequest(Double(result.replyBytes)))
            $0.member("purchasesSigned", purchasesSigned)
            $0.member("signingSeconds", signingSeconds)
            $0.member("generatorCpuMicrosecondsPerRequest", perRequest(generatorCPUSeconds * 1e6))
            members(to: &$0)
            $0.member("remark", text: remark)
            $0.key("firstErrors")
            $0.beginArray()
            for error in result.firstErrors { $0.string(error) }
            $0.endArray()
        }
        return writer.bytes
    }

    private func members(to writer: inout JSONWriter) {
        writer.key("server")
        if let server {
            writer.object {
                $0.member("pid", Int(server.pid))
                $0.member(
                    "cpuMicrosecondsPerRequest", perRequest((server.after.cpuSeconds - server.before.cpuSeconds) * 1e6))
                $0.member(
                    "writeBytesPerRequest", perRequest(Double(server.after.writtenBytes - server.before.writtenBytes)))
                $0.member("wcharPerRequest", perRequest(Double(server.after.wcharBytes - server.before.wcharBytes)))
                $0.member("residentBytes", Int(server.memory.residentBytes))
                $0.member("residentPeakBytes", Int(server.memory.residentPeakBytes))
            }
        } else {
            writer.null()
        }
        writer.key("ledger")
        if let ledger {
            writer.object {
                $0.member("path", text: ledger.path)
                $0.member("bytesBefore", Int(ledger.bytesBefore))
                $0.member("bytesAfter", Int(ledger.bytesAfter))
                $0.member("bytesPerRequest", ledger.bytesPerRequest)
            }
        } else {
            writer.null()
        }
        writer.key("machine")
        writer.object {
            $0.member("cores", machine.cores)
            $0.member("verificationsPerSecondPerCore", machine.verificationsPerSecondPerCore)
            $0.member("verificationsPerSecondPerCoreBefore", machine.verificationsPerSecond.first)
            $0.member("verificationsPerSecondPerCoreAfter", machine.verificationsPerSecond.last)
            $0.member("fdatasyncMicrosecondsP50", machine.syncMicrosecondsP50)
        }
        writer.key("ratios")
        writer.object {
            $0.member("requestsToVerifications", requestsToVerifications)
            $0.member("latencyP50ToFdatasyncP50", latencyToSync)
        }
    }
}

extension LoadSummary.LedgerSize {
    var bytesPerRequest: Double { requests > 0 ? Double(bytesAfter - bytesBefore) / Double(requests) : 0 }
}

extension JSONWriter {
    fileprivate mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }

    fileprivate mutating func member(_ name: StaticString, text value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    fileprivate mutating func member(_ name: StaticString, _ value: String) { member(name, text: value) }

    fileprivate mutating func member(_ name: StaticString, _ value: Int) {
        key(name)
        integer(Int64(value))
    }

    /// Six decimals, for a short run lasts a few milliseconds; JSON knows no infinity.
    fileprivate mutating func member(_ name: StaticString, _ value: Double?) {
        key(name)
        guard let value, value.isFinite else { return null() }
        raw(LoadSummary.decimal(value, places: 6).utf8)
    }
}
