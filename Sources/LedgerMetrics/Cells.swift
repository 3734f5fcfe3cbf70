import Synchronization

/// Numbers that are counted up by some threads and read by others, each by itself: without a lock, and without memory
/// being taken for an event. What is read of several is not of one moment.
///
/// `@unchecked Sendable`: every access to the memory behind the pointer is atomic, and the pointer does not change.
package final class Cells: @unchecked Sendable {
    package let count: Int
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    /// - Parameter count: how many; all are zero.
    package init(_ count: Int) {
        precondition(count > 0, "nothing is counted")
        self.count = count
        cells = .allocate(capacity: count)
        for place in 0..<count { (cells + place).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: count)
        cells.deallocate()
    }

    package subscript(place: Int) -> UInt64 {
        precondition(cellIsThere(place), "there is no cell \(place)")
        return cells[place].load(ordering: .relaxed)
    }

    /// Counts up. Any thread may.
    package func add(_ number: UInt64, at place: Int) {
        precondition(cellIsThere(place), "there is no cell \(place)")
        cells[place].wrappingAdd(number, ordering: .relaxed)
    }

    /// The same where one thread alone ever adds to the cell: it needs no locked instruction.
    package func addAlone(_ number: UInt64, at place: Int) {
        precondition(cellIsThere(place), "there is no cell \(place)")
        cells[place].store(cells[place].load(ordering: .relaxed) &+ number, ordering: .relaxed)
    }

    private func cellIsThere(_ place: Int) -> Bool { place >= 0 && place < count }
}

/// A number that only grows, but for a start of the process, from which it counts anew.
package final class Counter: Sendable {
    private let value = Atomic<UInt64>(0)

    package init() {}

    package var total: UInt64 { value.load(ordering: .relaxed) }

    package func add(_ number: Int = 1) {
        precondition(number >= 0, "a counter only grows")
        value.wrappingAdd(UInt64(number), ordering: .relaxed)
    }
}

/// A number as it is now.
package final class Gauge: Sendable {
    private let current: Atomic<Int64>

    package init(_ value: Int64 = 0) { current = Atomic(value) }

    package var value: Int64 { current.load(ordering: .relaxed) }

    package func set(_ value: Int64) { current.store(value, ordering: .relaxed) }
}
