import Foundation

/// A reply as Foundation reads it: a second opinion on what the server writes.
struct JSON: CustomStringConvertible, @unchecked Sendable {
    private let value: Any?

    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed])
    }

    private init(value: Any?) { self.value = value }

    subscript(name: String) -> JSON { JSON(value: (value as? [String: Any])?[name]) }
    subscript(index: Int) -> JSON { JSON(value: (value as? [Any]).flatMap { index < $0.count ? $0[index] : nil }) }

    var int: Int? { (value as? NSNumber)?.intValue }
    var string: String? { value as? String }
    var bool: Bool? { (value as? NSNumber)?.boolValue }
    var array: [JSON]? { (value as? [Any])?.map { JSON(value: $0) } }
    var isNull: Bool { value is NSNull }
    var exists: Bool { value != nil }
    var count: Int? { (value as? [Any])?.count ?? (value as? [String: Any])?.count }

    /// The reason of an error reply.
    var reason: String? { self["error"]["data"]["reason"].string }
    var isRetryable: Bool? { self["error"]["data"]["retryable"].bool }
    var result: JSON { self["result"] }
    var id: Int? { self["id"].int }

    var description: String { value.map { "\($0)" } ?? "nothing" }
}
