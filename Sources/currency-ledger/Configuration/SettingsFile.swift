import Foundation
import StrictJSON

/// A configuration file, checked: every key is known and of the right type. Scalars are kept as text, as an
/// environment variable or a flag would give them, so that one rule reads all three.
struct SettingsFile {
    private(set) var scalars: [String: String] = [:]
    private(set) var lists: [String: [String]] = [:]

    init() {}

    init(path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let bytes = try File.read(path, bytesMax: Settings.fileBytesMax)
        do {
            try bytes.withUnsafeBufferPointer { buffer in
                var reader = JSONReader(buffer)
                try read(&reader, folder: folder)
                try reader.end()
            }
        } catch let error as JSONError {
            throw ConfigurationError(path, error.description)
        }
    }

    private mutating func read(_ reader: inout JSONReader, folder: URL) throws(JSONError) {
        var scalars: [String: String] = [:]
        var lists: [String: [String]] = [:]
        func strings(_ reader: inout JSONReader) throws(JSONError) -> [String] {
            var list: [String] = []
            try reader.array { (reader, _) throws(JSONError) in list.append(try reader.string()) }
            return list
        }
        func path(_ text: String) -> String { URL(fileURLWithPath: text, relativeTo: folder).path }
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "path": scalars["path"] = path(try reader.string())
            case "catalog": scalars["catalog"] = path(try reader.string())
            case "listen": lists["listen"] = try strings(&reader)
            case "anchors": lists["anchors"] = try strings(&reader).map(path)
            case "app":
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "bundleId": scalars["app.bundleId"] = try reader.string()
                    case "appAppleId": scalars["app.appAppleId"] = String(try reader.integer())
                    case "environment": scalars["app.environment"] = try reader.string()
                    default: throw reader.fail("is not a setting")
                    }
                }
            case "tokens":
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "purchases", "game", "finance", "admin": lists["tokens." + key.string] = try strings(&reader)
                    default: throw reader.fail("is not a role; there are purchases, game, finance and admin")
                    }
                }
            case "cache":
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "players": scalars["cache.players"] = String(try reader.integer())
                    default: throw reader.fail("is not a setting")
                    }
                }
            case "log":
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "level": scalars["log.level"] = try reader.string()
                    default: throw reader.fail("is not a setting")
                    }
                }
            default: throw reader.fail("is not a setting")
            }
        }
        self.scalars = scalars
        self.lists = lists
    }
}

/// Reading files that an operator names.
enum File {
    static func read(_ path: String, bytesMax: Int) throws -> [UInt8] {
        let handle: FileHandle
        do {
            handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        } catch {
            throw ConfigurationError(path, "cannot be read: \(reason(error))")
        }
        defer { try? handle.close() }
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try handle.read(upToCount: bytesMax + 1) ?? Data())
        } catch {
            throw ConfigurationError(path, "cannot be read: \(reason(error))")
        }
        guard bytes.count <= bytesMax else { throw ConfigurationError(path, "is larger than \(bytesMax) bytes") }
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String, secret: Bool = false) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: secret ? 0o600 : 0o644]
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: attributes) else {
            throw ConfigurationError(path, "cannot be written")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: "there is no such file"
        case .fileReadNoPermission: "no permission"
        default: "\(error.localizedDescription)"
        }
    }
}
