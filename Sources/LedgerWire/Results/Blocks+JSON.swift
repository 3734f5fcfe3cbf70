package import LedgerTypes
package import StrictJSON

extension BlocksPage {
    /// Bytes of a SHA-256.
    static let hashBytes = 32
}

extension BlocksPage.Block: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("hash")
        writer.string(hexadecimal: hash)
        writer.key("body")
        writer.string(base64: body)
        writer.key("redactable")
        writer.string(base64: redactable)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var hash: [UInt8]?
        var body: [UInt8]?
        var redactable: [UInt8]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "hash": hash = try reader.blockHash()
            case "body": body = try reader.base64()
            case "redactable": redactable = try reader.base64()
            default: try reader.skip()
            }
        }
        self.init(
            hash: try reader.required(hash, "hash"), body: try reader.required(body, "body"),
            redactable: try reader.required(redactable, "redactable"))
    }
}

extension BlocksPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("blocks")
        writer.write(blocks)
        writer.key("head")
        writer.integer(head)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var blocks: [Block]?
        var head: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "blocks": blocks = try reader.list(of: Block.self)
            case "head": head = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(blocks: try reader.required(blocks, "blocks"), head: try reader.required(head, "head"))
    }
}

extension Promotion: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("promoted")
        writer.bool(promoted)
        writer.key("block")
        writer.integer(block)
        writer.key("term")
        writer.integer(term)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var promoted: Bool?
        var block: Int64?
        var term: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "promoted": promoted = try reader.bool()
            case "block": block = try reader.integer()
            case "term": term = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            promoted: try reader.required(promoted, "promoted"), block: try reader.required(block, "block"),
            term: try reader.required(term, "term"))
    }
}

extension Handover: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("steppedDown")
        writer.bool(steppedDown)
        writer.key("block")
        writer.integer(block)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var steppedDown: Bool?
        var block: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "steppedDown": steppedDown = try reader.bool()
            case "block": block = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            steppedDown: try reader.required(steppedDown, "steppedDown"), block: try reader.required(block, "block"))
    }
}
