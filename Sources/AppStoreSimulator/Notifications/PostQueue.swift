internal import HeapModule

/// Notifications in the order in which they are to be posted.
struct PostQueue {
    struct Post: Comparable {
        let uuid: String
        /// In milliseconds since the UNIX epoch.
        let due: Int64
        /// Whether it is the second of two, which the schedule knows nothing of.
        let isCopy: Bool
        /// Of those that are due together, the first in is the first out.
        fileprivate let number: Int

        static func < (left: Post, right: Post) -> Bool { (left.due, left.number) < (right.due, right.number) }
    }

    private var posts = Heap<Post>()
    private var added = 0

    mutating func add(_ uuid: String, at due: Int64, isCopy: Bool = false) {
        posts.insert(Post(uuid: uuid, due: due, isCopy: isCopy, number: added))
        added += 1
    }

    /// When the next is due; `nil` where there is none.
    var nextDue: Int64? { posts.min?.due }

    /// Takes the next that is due.
    mutating func takeDue(_ now: Int64) -> Post? {
        guard let first = posts.min, first.due <= now else { return nil }
        return posts.removeMin()
    }
}
