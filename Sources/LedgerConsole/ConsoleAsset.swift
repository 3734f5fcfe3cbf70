import LedgerPages

/// What pages load beside themselves: all of it is in the program.
package enum ConsoleAsset: String, CaseIterable, Sendable {
    case style = "/console.css"
    case icon = "/icon.svg"

    package var path: String { rawValue }

    package var type: String {
        switch self {
        case .style: "text/css; charset=utf-8"
        case .icon: "image/svg+xml"
        }
    }

    package var bytes: [UInt8] {
        let texts: [StaticString] =
            switch self {
            case .style: [PageStyle.css, ConsoleStyle.css]
            case .icon: [ConsoleAsset.drawing]
            }
        return texts.flatMap { text in text.withUTF8Buffer { Array($0) } }
    }

    private static let drawing: StaticString = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
        <rect width="32" height="32" rx="7" fill="#1f5fbf"/>\
        <path d="M8 10h16M8 16h16M8 22h10" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>
        """
}
