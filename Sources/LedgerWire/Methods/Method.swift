import LedgerTypes
package import StrictJSON

/// A method of the protocol, as the server needs it. All of them stand in ``Methods``.
package struct Method: Sendable {
    /// Who may call a method.
    package enum Access: Equatable, Sendable {
        case everyone
        case anyRole
        /// These, and `admin`.
        case roles(Roles)
    }

    /// As the protocol spells it.
    package let name: StaticString
    package let access: Access
    /// Whether a request may change the ledger, the service, or when others are answered.
    package let changes: Bool
    /// Whether a request of this method may be sent again where nobody knows whether it was carried out.
    package let isRepeatable: Bool
    /// Reads the object of its parameters, but for the ledger that it names.
    private let readParams: @Sendable (inout JSONReader) throws(JSONError) -> Request
    /// Reads its parameters where it is an operation of an `atomic`; `nil` where it cannot be one.
    let readOperation: (@Sendable (inout JSONReader) throws(JSONError) -> KeyedOperation)?

    init(
        name: StaticString, access: Access, changes: Bool, isRepeatable: Bool,
        read: @escaping @Sendable (inout JSONReader) throws(JSONError) -> Request,
        readOperation: (@Sendable (inout JSONReader) throws(JSONError) -> KeyedOperation)?
    ) {
        self.name = name
        self.access = access
        self.changes = changes
        self.isRepeatable = isRepeatable
        readParams = read
        self.readOperation = readOperation
    }

    /// Reads the object of its parameters. Each method has the parameter `ledger`, beside its own.
    func read(_ reader: inout JSONReader) throws(JSONError) -> Message.Asked {
        let (request, name) = try reader.settingApart("ledger") { (reader) throws(JSONError) in
            try readParams(&reader)
        }
        var asked = Message.Asked(self, request)
        if let name {
            var own = JSONReader(reader.bytes(name))
            guard try own.peek() == .string, let ledger = LedgerName(try own.string()) else {
                throw reader.invalid("ledger", LedgerName.rule)
            }
            asked.ledger = ledger
        } else if case .authenticate(let authentication) = request, authentication.saysNothing {
            throw reader.missing("token")
        }
        return asked
    }

    /// Whether a node that follows may pass a request of this method on to the one that leads. What concerns standbys
    /// or the service itself, is meant for that which is asked.
    package var isRelayed: Bool {
        ![Methods.blocks.method, Methods.promote.method, Methods.reload.method].contains(self)
    }

    /// Whether a connection of these roles may call the method, where it has authenticated.
    package func isAllowed(to roles: Roles) -> Bool {
        switch access {
        case .everyone, .anyRole: true
        case .roles(let allowed): !roles.isDisjoint(with: allowed.union(.admin))
        }
    }
}

extension LedgerName {
    fileprivate static var rule: String {
        "must be 1 to \(Limits.standbyNameBytesMax) letters, digits, _, - and ."
    }
}

extension Method {
    /// Where the texts of all names are: each stands in the program once.
    private static let places = Methods.all.map { UInt(bitPattern: $0.name.utf8Start) }

    /// Its place among ``Methods/all``.
    package var number: Int {
        guard let number = Method.places.firstIndex(of: UInt(bitPattern: name.utf8Start)) else {
            preconditionFailure("\(description) is not among all methods")
        }
        return number
    }
}

extension Method: Hashable, CustomStringConvertible {
    package static func == (left: Method, right: Method) -> Bool { left.description == right.description }
    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    package var description: String { name.description }
}

/// A method with the types of its parameters and its result, as a client needs it.
package struct TypedMethod<Params: MethodParams, Result: WireValue>: Sendable {
    package let method: Method

    /// - Parameter request: what the server is asked by these parameters.
    init(
        _ name: StaticString, _ access: Method.Access, _ params: Params.Type, _ result: Result.Type,
        changes: Bool = false, isRepeatable: Bool = true, _ request: @escaping @Sendable (Params) -> Request
    ) {
        method = Method(
            name: name, access: access, changes: changes, isRepeatable: isRepeatable,
            read: { (reader) throws(JSONError) in request(try Params(params: &reader)) }, readOperation: nil)
    }
}

extension TypedMethod where Params: OperationParams {
    /// A method that may stand in an `atomic`.
    init(
        _ name: StaticString, _ access: Method.Access, _ params: Params.Type, _ result: Result.Type,
        operation: @escaping @Sendable (Params) -> KeyedOperation
    ) {
        method = Method(
            name: name, access: access, changes: true, isRepeatable: true,
            read: { (reader) throws(JSONError) in
                .ledger(.keyed(operation(try Params(&reader, .alone))))
            },
            readOperation: { (reader) throws(JSONError) in operation(try Params(&reader, .inAtomic)) })
    }
}

/// The parameters of a method: an object, read by the server and written by a client.
package protocol MethodParams: Sendable {
    /// Reads the object. A member that is unknown, missing, given twice or of a wrong type is an error whose path
    /// names it.
    init(params reader: inout JSONReader) throws(JSONError)

    /// Writes its members; optional ones are left out where they are not given.
    func writeMembers(to writer: inout JSONWriter)
}
