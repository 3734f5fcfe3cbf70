import Dispatch
import Synchronization

/// Some threads for work that falls into parts.
final class Workers: Sendable {
    private let count: Int
    private let queue = DispatchQueue(label: "ledger.audit", attributes: .concurrent)
    private let group = DispatchGroup()

    init(_ count: Int) { self.count = max(count, 1) }

    /// What `body` makes of each item, in their order.
    func map<Item: Sendable, Result: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) -> Result
    ) -> [Result] {
        let results = Mutex([Result?](repeating: nil, count: items.count))
        let own = DispatchGroup()
        share(items.count, perBatch: max(1, min(64, items.count / (count * 4))), own) { range in
            let made = range.map { body(items[$0]) }
            results.withLock { results in
                for (index, result) in zip(range, made) { results[index] = result }
            }
        }
        own.wait()
        return results.withLock { $0 }.compactMap { $0 }
    }

    /// Begins to work on the items, some together, in no certain order.
    func begin<Item: Sendable>(
        _ items: [Item], perBatch: Int, _ body: @escaping @Sendable (ArraySlice<Item>) -> Void
    ) {
        share(items.count, perBatch: perBatch, group) { body(items[$0]) }
    }

    /// Waits for what was begun.
    func wait() { group.wait() }

    private func share(
        _ items: Int, perBatch: Int, _ group: DispatchGroup, _ body: @escaping @Sendable (Range<Int>) -> Void
    ) {
        let next = Counter()
        for _ in 0..<min(count, (items + perBatch - 1) / perBatch) {
            queue.async(group: group) {
                while true {
                    let first = next.take(perBatch)
                    if first >= items { return }
                    body(first..<min(first + perBatch, items))
                }
            }
        }
    }

    private final class Counter: Sendable {
        private let value = Atomic(0)

        func take(_ count: Int) -> Int { value.wrappingAdd(count, ordering: .relaxed).oldValue }
    }
}
