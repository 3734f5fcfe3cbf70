import Foundation
import LedgerWire

/// A configuration file: its settings as they stand in it. What is no setting, or of the wrong type, is noted.
struct SettingsFile {
    /// One value of a setting. Numbers are kept as text, as a variable or a flag would give them.
    struct Item {
        let text: String
        let value: JSONValue
    }

    /// The settings of the service, with those of its only ledger; or those of one of several ledgers.
    struct Scope {
        /// The name of the ledger, and where that stands; `nil` for the service.
        var member: JSONValue.Member?
        var items: [Setting: [Item]] = [:]
        /// Settings whose value is of the wrong type: they are not missing.
        var faulty: Set<Setting> = []
    }

    private(set) var service = Scope()
    /// Where there are several; `nil` where the file has no `ledgers`.
    private(set) var ledgers: [Scope]?
    var json: JSONFile
    /// Paths in the file are relative to it.
    let folder: URL

    /// - Throws: ``ConfigurationError`` where it cannot be read, or is not JSON at all.
    init(path: String) throws(ConfigurationError) {
        json = try JSONFile(path: path)
        folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        var service = Scope()
        read(json.root, under: [], of: &service)
        self.service = service
    }

    /// Reads an object of the file: the whole, a ledger, or a group of settings.
    private mutating func read(_ object: JSONValue, under names: [String], of scope: inout Scope) {
        let known = Setting.allCases.filter { scope.member == nil || $0.isOfLedger }
        guard let members = json.members(object) else {
            scope.faulty.formUnion(known.filter { $0.names.starts(with: names) })
            return
        }
        for member in members {
            let names = names + [member.name]
            let inside = known.filter { $0.names.starts(with: names) }
            if let setting = inside.first, setting.names == names {
                read(setting, member.value, of: &scope)
            } else if !inside.isEmpty {
                read(member.value, under: names, of: &scope)
            } else if scope.member == nil, names == ["ledgers"] {
                readLedgers(member.value)
            } else if Setting.allCases.contains(where: { $0.names.starts(with: names) }) {
                json.note("is a setting of the service, not of a ledger", member)
            } else {
                json.note("is not a setting", member)
            }
        }
    }

    private mutating func readLedgers(_ value: JSONValue) {
        let members = json.members(value) ?? []
        if case .object = value.content, members.isEmpty { json.note("must have a ledger", value) }
        ledgers = members.map { member in
            if LedgerName(member.name) == nil {
                let bytesMax = Limits.standbyNameBytesMax
                json.note("must have a name of 1 to \(bytesMax) letters, digits, _, - and ., not . and ..", member)
            }
            var scope = Scope(member: member)
            read(member.value, under: [], of: &scope)
            return scope
        }
    }

    private mutating func read(_ setting: Setting, _ value: JSONValue, of scope: inout Scope) {
        let read: [Item?]?
        switch setting.form {
        case .text: read = [text(value, setting)]
        case .boolean: read = [json.bool(value).map { Item(text: String($0), value: value) }]
        case .integer: read = [json.integer(value).map { Item(text: String($0), value: value) }]
        case .number: read = [json.number(value).map { Item(text: $0, value: value) }]
        case .object: read = [Item(text: "", value: value)]
        case .texts: read = json.elements(value, isSecret: setting.isSecret)?.map { text($0, setting) }
        }
        scope.items[setting] = read?.compactMap { $0 }
        if read?.allSatisfy({ $0 != nil }) != true { scope.faulty.insert(setting) }
    }

    private mutating func text(_ value: JSONValue, _ setting: Setting) -> Item? {
        json.string(value, isSecret: setting.isSecret).map { Item(text: $0, value: value) }
    }
}
