import Configuration
import Foundation

/// What is given for the settings: of each the value of the highest source that has it, flags over environment
/// variables over the file. What is wrong with it is noted, with the place where it stands.
struct SettingSources {
    /// One value, and where it stands.
    struct Given {
        fileprivate enum Origin {
            case flag(String)
            case variable(String)
            case file(JSONValue)
        }

        let text: String
        fileprivate let origin: Origin
    }

    private(set) var file: SettingsFile?
    /// What is being read: the service's settings, or one of several ledgers'.
    var scope: SettingsFile.Scope?
    private let flags: [Setting: String]
    private let environment: [String: String]
    private let variables: EnvironmentVariablesProvider
    /// What is wrong outside of the file.
    private var ownFaults: [String] = []

    init(file: SettingsFile?, flags: [Setting: String], environment: [String: String]) {
        self.file = file
        scope = file?.service
        self.flags = flags
        self.environment = environment
        variables = EnvironmentVariablesProvider(environmentVariables: environment)
    }

    // MARK: Values

    /// A value that must be there.
    mutating func required(_ setting: Setting) -> Given? {
        if let given = filled(setting) { return given }
        if lacks(setting) {
            let variable = isInFileAlone ? "" : ": in the configuration file, or as \(variable(setting).name)"
            note("is required\(variable)", setting)
        }
        return nil
    }

    /// A value that may not be empty.
    mutating func filled(_ setting: Setting) -> Given? { scalar(setting).flatMap { isFilled($0) ? $0 : nil } }

    mutating func isFilled(_ given: Given) -> Bool {
        if given.text.isEmpty { note("must not be empty", given) }
        return !given.text.isEmpty
    }

    mutating func integer(_ setting: Setting, in range: ClosedRange<Int64>) -> Int64? {
        guard let given = scalar(setting) else { return nil }
        if let value = Int64(given.text), range.contains(value) { return value }
        mustBe("an integer from \(range.lowerBound) to \(range.upperBound)", given)
        return nil
    }

    /// A number is written as JSON writes it in a variable and a flag too: `Double` reads `nan` and `0x1p-1` as well.
    mutating func number(_ setting: Setting, in range: ClosedRange<Double>) -> Double? {
        guard let given = scalar(setting) else { return nil }
        do throws(ConfigurationError) {
            let json = try JSONFile(Array(given.text.utf8), name: setting.rawValue)
            if case .number(let digits) = json.root.content, digits == given.text, let value = Double(digits),
                range.contains(value)
            {
                return value
            }
        } catch {
            // It is no JSON, and so no number.
        }
        mustBe("a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))", given)
        return nil
    }

    mutating func boolean(_ setting: Setting) -> Bool? {
        guard let given = scalar(setting) else { return nil }
        if let value = Bool(given.text) { return value }
        mustBe("true or false", given)
        return nil
    }

    func path(_ given: Given) -> String {
        if case .file = given.origin { path(given.text) } else { given.text }
    }

    /// - Parameter text: relative to the file's folder.
    func path(_ text: String) -> String {
        file.map { URL(fileURLWithPath: text, relativeTo: $0.folder).path } ?? text
    }

    /// `nil` where none are given.
    mutating func tokens() -> ReadTokens? {
        let variable = variable(.tokens)
        guard let text = variable.text else {
            return file?.service.items[.tokens]?.first.flatMap { file?.json.tokens($0.value) }
        }
        do throws(ConfigurationError) {
            var json = try JSONFile(Array(text.utf8), name: variable.name)
            let read = json.tokens(json.root)
            ownFaults += json.lines
            return read
        } catch {
            ownFaults += error.faults
            return ReadTokens()
        }
    }

    // MARK: What is given

    /// The only value of a setting, or its first.
    func scalar(_ setting: Setting) -> Given? { given(setting)?.first }

    /// Whether no source has it, not even with a value of the wrong type.
    func lacks(_ setting: Setting) -> Bool { given(setting) == nil && !isFaulty(setting) }

    /// Whether its value is the file's, and of the wrong type, which was noted.
    func isFaulty(_ setting: Setting) -> Bool {
        if isInFileAlone { return scope?.faulty.contains(setting) == true }
        return flags[setting] == nil && variable(setting).text == nil && scope?.faulty.contains(setting) == true
    }

    /// Whether neither flags nor variables have what is being read: the settings of one of several ledgers.
    private var isInFileAlone: Bool { scope?.member != nil }

    /// All values of a setting, of the highest source that has it; `nil` where none has.
    func given(_ setting: Setting) -> [Given]? {
        if isInFileAlone { return givenInFile(setting) }
        if let text = flags[setting], let flag = setting.flag { return split(text, setting, .flag(flag)) }
        let variable = variable(setting)
        if let text = variable.text { return split(text, setting, .variable(variable.name)) }
        return givenInFile(setting)
    }

    private func givenInFile(_ setting: Setting) -> [Given]? {
        scope?.items[setting]?.map {
            Given(text: setting.form == .texts ? $0.text[...].trimmed : $0.text, origin: .file($0.value))
        }
    }

    private func split(_ text: String, _ setting: Setting, _ origin: Given.Origin) -> [Given] {
        guard setting.form == .texts else { return [Given(text: text, origin: origin)] }
        return text.split(separator: ",").map { Given(text: $0.trimmed, origin: origin) }
    }

    /// The environment variable of a setting.
    private func variable(_ setting: Setting) -> (name: String, text: String?) {
        do {
            let found = try variables.value(forKey: AbsoluteConfigKey(["ledger"] + setting.names), type: .string)
            guard case .string(let text) = found.value?.content else { return (found.encodedKey, nil) }
            return (found.encodedKey, text)
        } catch {
            preconditionFailure("every variable is a string: \(error)")
        }
    }

    // MARK: Faults

    /// All that is wrong: first what stands in the file.
    var faults: [String] { (file?.json.lines ?? []) + ownFaults }

    mutating func mustBe(_ what: String, _ given: Given) {
        switch given.origin {
        case .flag, .variable: note("must be \(what), not \(JSONValue.quoted(given.text))", given)
        case .file(let value): file?.json.mustBe(what, value)
        }
    }

    mutating func note(_ rule: String, _ given: Given) {
        switch given.origin {
        case .flag(let name), .variable(let name): ownFaults.append("\(name): \(rule)")
        case .file(let value): file?.json.note(rule, value)
        }
    }

    mutating func note(_ rule: String, _ member: JSONValue.Member) { file?.json.note(rule, member) }

    /// Notes what a setting lacks, where it is given or could be.
    mutating func note(_ rule: String, _ setting: Setting) {
        let variable = variable(setting)
        if let member = scope?.member, let file {
            ownFaults.append("\(file.json.name): ledgers.\(member.name).\(setting.rawValue): \(rule)")
        } else if flags[setting] != nil, let flag = setting.flag {
            ownFaults.append("\(flag): \(rule)")
        } else if variable.text != nil {
            ownFaults.append("\(variable.name): \(rule)")
        } else {
            ownFaults.append("\(file.map { "\($0.json.name): " } ?? "")\(setting.rawValue): \(rule)")
        }
    }

    /// Notes the one that is missing of two.
    mutating func requireTogether(_ first: Setting, _ second: Setting) {
        if given(first) != nil { require(second, because: "\(first.rawValue) is") }
        if given(second) != nil { require(first, because: "\(second.rawValue) is") }
    }

    mutating func require(_ setting: Setting, because: String) {
        if lacks(setting) { note("is required where \(because) given", setting) }
    }

    /// A variable that is spelt wrong would otherwise be a setting that is not there, and nobody would know.
    mutating func refuseUnknownVariables() {
        let known = Set(Setting.allCases.map { variable($0).name }).union([ServerOptions.tokenVariable])
        for name in environment.keys.sorted() where name.hasPrefix("LEDGER_") && !known.contains(name) {
            if SettingSources.isOfService(name) { continue }
            ownFaults.append("\(name): is not a variable of a setting")
        }
    }

    /// What Kubernetes and Docker set in every container beside a service or a container of the name `ledger`.
    private static func isOfService(_ name: String) -> Bool {
        name == "LEDGER_PORT" || name == "LEDGER_NAME"
            || ["LEDGER_PORT_", "LEDGER_SERVICE_", "LEDGER_ENV_"].contains { name.hasPrefix($0) }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
