/// When something of which player expires: a binary heap, the earliest first, and of two at once the older player. An
/// item whose player has another deadline by now, or is no longer in memory, means nothing and is dropped when it is
/// met.
struct Deadlines: Sendable {
    struct Item: Comparable, Sendable {
        var time: Timestamp
        var player: PlayerID

        static func < (left: Item, right: Item) -> Bool {
            (left.time, left.player) < (right.time, right.player)
        }
    }

    private var heap: [Item] = []

    var first: Item? { heap.first }
    var count: Int { heap.count }

    mutating func removeAll() { heap.removeAll(keepingCapacity: true) }

    mutating func push(_ item: Item) {
        heap.append(item)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if heap[parent] <= heap[child] { return }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
