import Foundation

/// A configuration file: its settings as they stand in it. What is no setting, or of the wrong type, is noted.
struct SettingsFile {
    /// One value of a setting. Numbers are kept as text, as a variable or a flag would give them.
    struct Item {
        let text: String
        let value: JSONValue
    }

    private(set) var items: [Setting: [Item]] = [:]
    /// Settings whose value is of the wrong type: they are not missing.
    private(set) var faulty: Set<Setting> = []
    var json: JSONFile
    /// Paths in the file are relative to it.
    let folder: URL

    /// - Throws: ``ConfigurationError`` where it cannot be read, or is not JSON at all.
    init(path: String) throws(ConfigurationError) {
        json = try JSONFile(path: path)
        folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        read(json.root, under: [])
    }

    /// Reads an object of the file: the whole, or a group of settings.
    private mutating func read(_ object: JSONValue, under names: [String]) {
        guard let members = json.members(object) else {
            faulty.formUnion(Setting.allCases.filter { $0.names.starts(with: names) })
            return
        }
        for member in members {
            let names = names + [member.name]
            let inside = Setting.allCases.filter { $0.names.starts(with: names) }
            if let setting = inside.first, setting.names == names {
                read(setting, member.value)
            } else if !inside.isEmpty {
                read(member.value, under: names)
            } else {
                json.note("is not a setting", member)
            }
        }
    }

    private mutating func read(_ setting: Setting, _ value: JSONValue) {
        let read: [Item?]?
        switch setting.form {
        case .text: read = [text(value, setting)]
        case .boolean: read = [json.bool(value).map { Item(text: String($0), value: value) }]
        case .integer: read = [json.integer(value).map { Item(text: String($0), value: value) }]
        case .object: read = [Item(text: "", value: value)]
        case .texts: read = json.elements(value, isSecret: setting.isSecret)?.map { text($0, setting) }
        }
        items[setting] = read?.compactMap { $0 }
        if read?.allSatisfy({ $0 != nil }) != true { faulty.insert(setting) }
    }

    private mutating func text(_ value: JSONValue, _ setting: Setting) -> Item? {
        json.string(value, isSecret: setting.isSecret).map { Item(text: $0, value: value) }
    }
}
