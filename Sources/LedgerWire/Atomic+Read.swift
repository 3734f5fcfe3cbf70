import LedgerTypes
import StrictJSON

extension Atomic {
    init(_ reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var operations: [AtomicOperation]?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "operations": operations = try reader.operations()
            default: throw reader.unknownParameter()
            }
        }
        let own = try reader.required(key, "key")
        self.init(key: own, operations: try reader.required(operations, "operations").map { $0.keyed(own) })
    }
}

extension JSONReader {
    fileprivate mutating func operations() throws(JSONError) -> [AtomicOperation] {
        var operations: [AtomicOperation] = []
        var count = 0
        try array { (reader, index) throws(JSONError) in
            count = index + 1
            guard count <= Limits.atomicOperationsMax else { return try reader.skip() }
            operations.append(try AtomicOperation(&reader))
        }
        guard WireLimits.atomicOperationsMin...Limits.atomicOperationsMax ~= count else {
            throw fail("must be \(WireLimits.atomicOperationsMin) to \(Limits.atomicOperationsMax) operations")
        }
        return operations
    }
}

extension AtomicOperation {
    /// `{"method", "params"}`, in any order.
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var method: Method?
        var operation: AtomicOperation?
        var earlyParams: Range<Int>?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "method": method = try AtomicOperation.method(&reader)
            case "params":
                if let method {
                    operation = try AtomicOperation(method, &reader)
                } else {
                    earlyParams = try reader.raw()
                }
            default: throw reader.fail("is not a member of an operation")
            }
        }
        let known = try reader.required(method, "method")
        if let operation {
            self = operation
            return
        }
        var params = JSONReader(reader.bytes(try reader.required(earlyParams, "params")))
        do throws(JSONError) {
            self = try AtomicOperation(known, &params)
        } catch {
            // The path begins at the parameters, which were read by themselves.
            var placed = error
            placed.path = error.path.isEmpty ? "params" : "params.\(error.path)"
            throw placed
        }
    }

    private static func method(_ reader: inout JSONReader) throws(JSONError) -> Method {
        guard let method = Method(try reader.text()), isOperation(method) else {
            let names = Method.allCases.filter(isOperation).map(\.rawValue).joined(separator: ", ")
            throw reader.fail("must be one of \(names)")
        }
        return method
    }

    private static func isOperation(_ method: Method) -> Bool {
        switch method {
        case .spend, .reverse, .grant, .hold, .capture, .release: true
        case .ping, .authenticate, .info, .credit, .notify, .purchase, .consumption, .atomic, .balance, .history,
            .report, .journal, .forget:
            false
        }
    }

    private init(_ method: Method, _ reader: inout JSONReader) throws(JSONError) {
        switch method {
        case .spend: self = .spend(try Spend(&reader, .inAtomic))
        case .reverse: self = .reverse(try Reversal(&reader, .inAtomic))
        case .grant: self = .grant(try Grant(&reader, .inAtomic))
        case .hold: self = .hold(try Hold(&reader, .inAtomic))
        case .capture: self = .capture(try Capture(&reader, .inAtomic))
        case .release: self = .release(try Release(&reader, .inAtomic))
        case .ping, .authenticate, .info, .credit, .notify, .purchase, .consumption, .atomic, .balance, .history,
            .report, .journal, .forget:
            preconditionFailure("a method that is no operation of an atomic was let through")
        }
    }

    /// The operation under its atomic's key.
    fileprivate func keyed(_ key: RequestKey) -> AtomicOperation {
        switch self {
        case .spend(var spend):
            spend.key = key
            return .spend(spend)
        case .reverse(var reversal):
            reversal.key = key
            return .reverse(reversal)
        case .grant(var grant):
            grant.key = key
            return .grant(grant)
        case .hold(var hold):
            hold.key = key
            return .hold(hold)
        case .capture(var capture):
            capture.key = key
            return .capture(capture)
        case .release(var release):
            release.key = key
            return .release(release)
        }
    }
}
