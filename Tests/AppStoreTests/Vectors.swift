import Foundation

/// Data that was made elsewhere, beside the repository; tests that need it are skipped where it is not there.
enum Vectors {
    /// The repository's root, from Tests/AppStoreTests/Vectors.swift.
    static let folder = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "../shared/vectors").standardized

    static var arePresent: Bool { FileManager.default.fileExists(atPath: folder.path) }

    static func jws(_ name: String) throws -> [UInt8] {
        let text = try Data(contentsOf: folder.appending(path: "real-appstore/\(name).jws"))
        return Array(text).filter { $0 > 0x20 }
    }

    static func json<T: Decodable>(_ name: String, as type: T.Type) throws -> T {
        try JSONDecoder().decode(type, from: Data(contentsOf: folder.appending(path: "wycheproof/\(name).json")))
    }
}
