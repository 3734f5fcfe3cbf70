import AppStore
import Foundation
import Ledger
import LineServer
import Logging
import StrictJSON

/// Writes one line an event, whatever stands in it: what is no seen character, as a line's end in a reason that
/// somebody else has worded, is escaped. So nobody writes lines of their own.
struct LineLogHandler: LogHandler {
    let label: String
    let output: LogOutput
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    /// Of this logger alone; `nil` where the output's counts.
    private var ownLevel: Logger.Level?

    init(label: String, output: LogOutput) {
        self.label = label
        self.output = output
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? output.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        let fields = all.sorted { $0.key < $1.key }
        output.write(
            LineLogHandler.line(output.format, event.level, label, event.source, "\(event.message)", fields))
    }

    /// The line of an event of now.
    static func line(
        _ format: LogOutput.Format, _ level: Logger.Level, _ label: String, _ source: String, _ message: String,
        _ fields: [(key: String, value: Logger.Metadata.Value)]
    ) -> String {
        switch format {
        case .text: text(Clock.now(), level, label, source, message, fields)
        case .json: json(Clock.now(), level, message, fields)
        }
    }

    // MARK: Text

    static func text(
        _ time: Timestamp, _ level: Logger.Level, _ label: String, _ source: String, _ message: String,
        _ fields: [(key: String, value: Logger.Metadata.Value)]
    ) -> String {
        let pairs = fields.map { " \(seen($0.key))=\(seen("\($0.value)"))" }.joined()
        return "\(localTime(time)) \(level) \(label):\(pairs) [\(source)] \(seen(message))"
    }

    private static func seen(_ text: String) -> String {
        var seen = ""
        for scalar in text.unicodeScalars { seen += ForeignText.escaped(scalar) }
        return seen
    }

    /// `2026-11-27T09:30:05+0100`
    private static func localTime(_ time: Timestamp) -> String {
        var seconds = time_t(time / 1_000)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return "\(time)" }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { chars in
                strftime(chars.baseAddress, chars.count, "%Y-%m-%dT%H:%M:%S%z", &parts)
            }
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    // MARK: JSON

    /// Names that are the line's own.
    private static let names: Set = ["time", "level", "message"]

    /// One object: `time` (RFC 3339, UTC, milliseconds), `level` and `message`; then what the event has besides, each
    /// under its name (with `_` before it, where it is one of these).
    static func json(
        _ time: Timestamp, _ level: Logger.Level, _ message: String,
        _ fields: [(key: String, value: Logger.Metadata.Value)]
    ) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("time")
        writer.string(utc(time))
        writer.key("level")
        writer.string(level.rawValue)
        writer.key("message")
        writer.string(message)
        for field in fields {
            writer.key(names.contains(field.key) ? "_\(field.key)" : field.key)
            write(field.value, to: &writer)
        }
        writer.endObject()
        // Characters that JSON may have as they are, but that change how the line is seen.
        return ForeignText.shown(json: String(decoding: writer.bytes, as: UTF8.self))
    }

    private static func write(_ value: Logger.Metadata.Value, to writer: inout JSONWriter) {
        switch value {
        case .string(let text): writer.string(text)
        case .stringConvertible(let text as LogText): writer.string(text.raw)
        case .stringConvertible(let other): writer.string("\(other)")
        case .array(let values):
            writer.beginArray()
            for value in values { write(value, to: &writer) }
            writer.endArray()
        case .dictionary(let values):
            writer.beginObject()
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                write(value, to: &writer)
            }
            writer.endObject()
        }
    }

    /// `2026-11-27T08:30:05.123Z`
    static func utc(_ time: Timestamp) -> String {
        var seconds = time_t(time / 1_000)
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return "\(time)" }
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let day = "\(digits(Int(parts.tm_year) + 1_900, 4))-\(digits(Int(parts.tm_mon) + 1, 2))"
        let clock = "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
        return "\(day)-\(digits(Int(parts.tm_mday), 2))T\(clock).\(digits(Int(time % 1_000), 3))Z"
    }
}
