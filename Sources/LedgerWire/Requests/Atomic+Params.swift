package import LedgerTypes
package import StrictJSON

extension Atomic: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var operations: [KeyedOperation]?
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

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", key.text)
        writer.key("operations")
        writer.beginArray()
        for operation in operations {
            writer.beginObject()
            writer.key("method")
            writer.ascii(operation.method)
            writer.key("params")
            writer.beginObject()
            operation.params.writeMembers(.inAtomic, to: &writer)
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }
}

extension JSONReader {
    fileprivate mutating func operations() throws(JSONError) -> [KeyedOperation] {
        var operations: [KeyedOperation] = []
        var count = 0
        try array { (reader, index) throws(JSONError) in
            count = index + 1
            guard count <= Limits.atomicOperationsMax else { return try reader.skip() }
            operations.append(try KeyedOperation(&reader))
        }
        guard WireLimits.atomicOperationsMin...Limits.atomicOperationsMax ~= count else {
            throw fail("must be \(WireLimits.atomicOperationsMin) to \(Limits.atomicOperationsMax) operations")
        }
        return operations
    }
}

extension KeyedOperation {
    /// `{"method", "params"}`, in any order.
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var method: Reader?
        var operation: KeyedOperation?
        var earlyParams: Range<Int>?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "method": method = try KeyedOperation.method(&reader)
            case "params":
                if let method {
                    operation = try method(&reader)
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
            self = try known(&params)
        } catch {
            // The path begins at the parameters, which were read by themselves.
            var placed = error
            placed.path = error.path.isEmpty ? "params" : "params.\(error.path)"
            throw placed
        }
    }

    private typealias Reader = @Sendable (inout JSONReader) throws(JSONError) -> KeyedOperation

    private static func method(_ reader: inout JSONReader) throws(JSONError) -> Reader {
        guard let read = Methods.named(try reader.text())?.readOperation else {
            let names = Methods.all.filter { $0.readOperation != nil }.map(\.description).joined(separator: ", ")
            throw reader.fail("must be one of \(names)")
        }
        return read
    }

    fileprivate var params: any OperationParams {
        switch self {
        case .spend(let spend): spend
        case .reverse(let reversal): reversal
        case .grant(let grant): grant
        case .hold(let hold): hold
        case .capture(let capture): capture
        case .release(let release): release
        }
    }

    /// The operation under its atomic's key.
    fileprivate func keyed(_ key: RequestKey) -> KeyedOperation {
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
