package import StrictJSON

/// Who a connection is from now on: the result of `authenticate`.
public struct Identity: Hashable, Sendable {
    /// The token's name, as the server's configuration has it and as its entries show it; `nil` where the server has
    /// no tokens.
    public var name: String?
    /// What it may do; at least one.
    public var roles: [Role]

    /// Who a connection is.
    public init(name: String?, roles: [Role]) {
        self.name = name
        self.roles = roles
    }
}

extension Identity: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let name {
            writer.key("name")
            writer.string(name)
        }
        // What clients read that know tokens of one role.
        if roles.count == 1, let role = roles.first {
            writer.key("role")
            writer.string(role.rawValue)
        }
        writer.key("roles")
        writer.beginArray()
        for role in roles { writer.string(role.rawValue) }
        writer.endArray()
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var name: String?
        var role: Role?
        var roles: [Role]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "name": name = try reader.string()
            case "role": role = try reader.named(Role.init(rawValue:))
            case "roles":
                var read: [Role] = []
                try reader.array { (reader, _) throws(JSONError) in
                    read.append(try reader.named(Role.init(rawValue:)))
                }
                roles = read
            default: try reader.skip()
            }
        }
        self.init(name: name, roles: try reader.required(roles ?? role.map { [$0] }, "roles"))
    }
}
