internal import AppStoreServer
internal import StrictJSON

/// Reports as App Store Connect would give them out, of what a simulator sold and refunded.
package struct SimulatedReports: Sendable {
    /// A file.
    package struct File: Hashable, Sendable {
        /// As Apple names it ("Report file names").
        package let name: String
        package let bytes: [UInt8]
    }

    /// An error that was put in, and where.
    package struct PutIn: Hashable, Sendable {
        package let mistake: ReportOrder.Mistake
        /// The file that has it, or that lacks the row.
        package let file: String
        /// The row's; empty where it is a total.
        package let product: String
        /// The row's, in two letters; empty where it is a total.
        package let country: String
        /// The row's; empty where it is a total.
        package let currency: String
        /// The row's day, or the first one of several, as ISO 8601 has it.
        package let day: String
        /// Whether the row is of refunds.
        package let isRefund: Bool
    }

    package let files: [File]
    package let putIn: [PutIn]
}

// MARK: On the wire

extension SimulatedReports {
    /// A line for each file and each error that was put in.
    func lines() -> [UInt8] {
        var writer = JSONWriter(capacity: files.reduce(0) { $0 + $1.bytes.count * 2 } + 1_024)
        for file in files {
            writer.beginObject()
            writer.member("file", file.name)
            writer.key("bytes")
            writer.string(base64: file.bytes)
            writer.endObject()
            writer.newline()
        }
        for putIn in putIn {
            putIn.write(&writer)
            writer.newline()
        }
        return writer.bytes
    }

    init(lines: [UInt8]) throws(JSONError) {
        var files: [File] = [], putIn: [PutIn] = []
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            try JSONBody.read(Array(line)) { (reader) throws(JSONError) in
                var members: [String: String] = [:], isRefund = false, bytes: [UInt8]?
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "refund": isRefund = try reader.bool()
                    case "bytes":
                        var text = try reader.string()
                        bytes = text.withUTF8 { Base64.decodeStandard($0) }
                        if bytes == nil { throw reader.fail("is not base64") }
                    default:
                        let name = key.string
                        members[name] = try reader.string()
                    }
                }
                guard let file = members["file"] else { throw reader.missing("file") }
                // A name, and no path that leads elsewhere.
                guard !file.contains("/"), !file.hasPrefix(".") else { throw reader.fail("is no file's name") }
                if let bytes {
                    files.append(File(name: file, bytes: bytes))
                    return
                }
                guard let mistake = members["mistake"].flatMap(ReportOrder.Mistake.init) else {
                    throw reader.missing("mistake")
                }
                putIn.append(
                    PutIn(
                        mistake: mistake, file: file, product: members["product"] ?? "",
                        country: members["country"] ?? "", currency: members["currency"] ?? "",
                        day: members["day"] ?? "", isRefund: isRefund))
            }
        }
        self.init(files: files, putIn: putIn)
    }
}

extension SimulatedReports.PutIn {
    func write(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("mistake", mistake.rawValue)
        writer.member("file", file)
        writer.member("product", product)
        writer.member("country", country)
        writer.member("currency", currency)
        writer.member("day", day)
        writer.member("refund", isRefund)
        writer.endObject()
    }

    /// A line of JSON.
    package func json() -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.bytes
    }
}
