import Foundation

/// The files of the repository, as these tests read them.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A file's whole text.
    /// - Parameter path: from the root on.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The files below a folder, or a file itself, in order, as paths from the root on. What a build leaves is not
    /// looked at.
    static func files(below path: String, ending: String) -> [String] {
        let start = root.appendingPathComponent(path)
        if path.hasSuffix(ending) { return [path] }
        let all = FileManager.default.enumerator(
            at: start, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        return (all?.compactMap { $0 as? URL } ?? [])
            .map { String($0.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1)) }
            .filter { $0.hasSuffix(ending) }
            .sorted()
    }

    /// Every Swift file of the package and of its benchmarks.
    static var swiftFiles: [String] {
        ["Package.swift", "Sources", "Schema", "Tests", "Benchmarks"].flatMap { files(below: $0, ending: ".swift") }
    }

    /// The Swift files of what is shipped, with their texts.
    static func productSources() throws -> [(path: String, text: String)] {
        try ["Sources", "Schema"].flatMap { files(below: $0, ending: ".swift") }.map { ($0, try text($0)) }
    }

    /// The source file of a name, wherever it stands.
    static func source(named name: String) throws -> String {
        let found = files(below: "Sources", ending: "/" + name)
        guard found.count == 1 else { throw Missing(description: "\(found.count) source files are named \(name)") }
        return try text(found[0])
    }

    /// README and the articles.
    static var pages: [String] { ["README.md"] + files(below: "Sources", ending: ".md") }

    /// The page of a name, wherever it stands.
    static func page(named name: String) throws -> String {
        let found = pages.filter { $0.hasSuffix("/" + name) }
        guard found.count == 1 else { throw Missing(description: "\(found.count) pages are named \(name)") }
        return try text(found[0])
    }

    struct Missing: Error, CustomStringConvertible {
        var description: String
    }
}

/// What Markdown means, as far as these tests look at it.
enum Markdown {
    /// A page without its fenced blocks; their lines are empty, so that line numbers stay.
    static func prose(_ page: String) -> String {
        var isFenced = false
        return page.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isFenced.toggle()
                return ""
            }
            return isFenced ? "" : String(line)
        }.joined(separator: "\n")
    }

    /// The anchors of a page's headings, as forges make them: lower case, without punctuation, spaces as hyphens, and
    /// a number behind one that was there before.
    static func anchors(_ page: String) -> Set<String> {
        var seen: [String: Int] = [:]
        var anchors: Set<String> = []
        for match in prose(page).matches(of: /(?m)^#{1,6} +(.+?) *$/) {
            let text = match.1.lowercased().replacing(/[^\p{L}\p{N} _-]/, with: "").replacing(" ", with: "-")
            anchors.insert(seen[text].map { "\(text)-\($0)" } ?? text)
            seen[text, default: 0] += 1
        }
        return anchors
    }

    /// Where the links of a page lead, without those in code.
    static func links(_ page: String) -> [String] {
        prose(page).replacing(/`[^`\n]*`/, with: "code").matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    }

    /// The paragraphs of a page: what stands between empty lines, a list's items and tables with what leads to them
    /// included.
    static func paragraphs(_ page: String) -> [String] {
        prose(page).split(separator: /\n(?:[ \t]*\n)+/).map(String.init)
    }

    /// One line, without doubled spaces: for looking for a sentence that a page breaks somewhere.
    static func flat(_ text: String) -> String { text.replacing(/\s+/, with: " ") }
}
