/// What has more than one page: each is asked for when it is wanted, and none is kept.
///
/// ```swift
/// for try await page in client.refundHistory(transactionID: id) {
///     for jws in page.signedTransactions { … }
/// }
/// ```
/// Where a page cannot be had, the iteration throws what the call throws; asked again, the same iterator asks for the
/// same page again. Each page says how to go on after it, also in another process and at another time.
public struct Pages<Page: Sendable & HistoryPage>: AsyncSequence, Sendable {
    private let start: String?
    private let fetch: @Sendable (String?) async throws -> Page

    init(after start: String?, fetch: @escaping @Sendable (String?) async throws -> Page) {
        self.start = start
        self.fetch = fetch
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(after: start, fetch: fetch) }

    /// Reads page after page.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum Position {
            case after(String?)
            case end
        }

        private var position: Position
        /// Where it was already. One that leads there again leads round in a circle.
        private var passed: Set<String> = []
        private let fetch: @Sendable (String?) async throws -> Page

        fileprivate init(after start: String?, fetch: @escaping @Sendable (String?) async throws -> Page) {
            position = .after(start)
            self.fetch = fetch
        }

        /// The next page; `nil` after the last.
        /// - Throws: ``AppStoreServerError``; `CancellationError`.
        public mutating func next() async throws -> Page? {
            guard case .after(let token) = position else { return nil }
            let page = try await fetch(token)
            guard page.hasMore else {
                position = .end
                return page
            }
            // Otherwise the same page would come for ever.
            guard let next = page.continuation, next != token, !passed.contains(next) else {
                throw AppStoreServerError.unreadableReply("there are more pages, and it does not say where")
            }
            if let token { passed.insert(token) }
            position = .after(next)
            return page
        }
    }
}

/// A page of a history.
public protocol HistoryPage {
    /// Whether there are further pages now.
    var hasMore: Bool { get }
    /// How to go on after it; `nil` where Apple does not say.
    var continuation: String? { get }
}
