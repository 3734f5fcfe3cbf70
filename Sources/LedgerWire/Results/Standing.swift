public import LedgerTypes
package import StrictJSON

/// How far a standby is behind its leader: part of the answer to `info`.
public struct StandbyStanding: Hashable, Sendable {
    /// Whether it follows.
    public enum State: String, CaseIterable, Sendable {
        /// It has a connection to its leader, and gets blocks.
        case following
        /// It has none, and tries to get one.
        case connecting
        /// It does not go on, for its chain is not its leader's.
        case stopped
    }

    /// The leader's address.
    public var leader: String
    /// Whether it follows.
    public var state: State
    /// Why it does not; `nil` where it does.
    public var reason: String?
    /// The last block that is durable here; 0 where there is none.
    public var block: Int64
    /// The leader's last block, as of the last reply from it; `nil` before the first.
    public var leaderBlock: Int64?
    /// How many milliseconds ago it is known to have had all that the leader had; `nil` where that was not since the
    /// start.
    public var millisecondsBehind: Int64?

    /// How many blocks of the leader it lacks, as of the last reply from it; `nil` before the first.
    public var blocksBehind: Int64? { leaderBlock.map { max(0, $0 - block) } }

    package init(
        leader: String, state: State, reason: String?, block: Int64, leaderBlock: Int64?, millisecondsBehind: Int64?
    ) {
        self.leader = leader
        self.state = state
        self.reason = reason
        self.block = block
        self.leaderBlock = leaderBlock
        self.millisecondsBehind = millisecondsBehind
    }
}

extension StandbyStanding: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("leader")
        writer.string(leader)
        writer.key("state")
        writer.string(state.rawValue)
        if let reason {
            writer.key("reason")
            writer.string(reason)
        }
        writer.key("block")
        writer.integer(block)
        writer.key("leaderBlock")
        writer.integer(orNull: leaderBlock)
        writer.key("blocksBehind")
        writer.integer(orNull: blocksBehind)
        writer.key("millisecondsBehind")
        writer.integer(orNull: millisecondsBehind)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var leader: String?
        var state: State?
        var reason: String?
        var block: Int64?
        var leaderBlock: Int64?
        var millisecondsBehind: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "leader": leader = try reader.string()
            case "state": state = try reader.named(State.init(rawValue:))
            case "reason": reason = try reader.string()
            case "block": block = try reader.integer()
            case "leaderBlock": leaderBlock = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "millisecondsBehind":
                millisecondsBehind = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            leader: try reader.required(leader, "leader"), state: try reader.required(state, "state"), reason: reason,
            block: try reader.required(block, "block"), leaderBlock: leaderBlock,
            millisecondsBehind: millisecondsBehind)
    }
}

/// Who follows a ledger: part of the answer to `info`.
public struct ReplicationStanding: Hashable, Sendable {
    /// One standby.
    public struct Standby: Hashable, Sendable {
        /// Its name.
        public var name: StandbyName
        /// The last block that is durable there, as it said.
        public var block: Int64
        /// Whether it has a connection now.
        public var isConnected: Bool

        /// One standby.
        public init(name: StandbyName, block: Int64, isConnected: Bool) {
            self.name = name
            self.block = block
            self.isConnected = isConnected
        }
    }

    /// How many standbys must have a block before anything in it is answered.
    public var required: Int
    /// The last block that is durable here.
    public var block: Int64
    /// Every standby that has asked for blocks since the start, by name.
    public var standbys: [Standby]

    /// Who follows a ledger.
    public init(required: Int, block: Int64, standbys: [Standby]) {
        self.required = required
        self.block = block
        self.standbys = standbys
    }
}

extension ReplicationStanding.Standby: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("name")
        writer.string(name.text)
        writer.key("block")
        writer.integer(block)
        writer.key("isConnected")
        writer.bool(isConnected)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var name: StandbyName?
        var block: Int64?
        var isConnected: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "name": name = try reader.named(StandbyName.init)
            case "block": block = try reader.integer()
            case "isConnected": isConnected = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            name: try reader.required(name, "name"), block: try reader.required(block, "block"),
            isConnected: try reader.required(isConnected, "isConnected"))
    }
}

extension ReplicationStanding: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("required")
        writer.integer(Int64(required))
        writer.key("block")
        writer.integer(block)
        writer.key("standbys")
        writer.write(standbys)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var required: Int64?
        var block: Int64?
        var standbys: [Standby]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "required": required = try reader.integer()
            case "block": block = try reader.integer()
            case "standbys": standbys = try reader.list(of: Standby.self)
            default: try reader.skip()
            }
        }
        self.init(
            required: Int(try reader.required(required, "required")), block: try reader.required(block, "block"),
            standbys: try reader.required(standbys, "standbys"))
    }
}
