/// Which of some places are free, counted and found in steps that are the logarithm of their number (a Fenwick tree).
struct FreePlaces {
    /// The one of number n, counted from 1, is how many are free of the n & -n places up to the nth.
    private var counts: [Int]

    /// All are free.
    init(count: Int) { counts = (0...count).map { $0 & -$0 } }

    mutating func take(_ place: Int) { change(place, by: -1) }

    mutating func free(_ place: Int) { change(place, by: 1) }

    private mutating func change(_ place: Int, by change: Int) {
        var number = place + 1
        while number < counts.count {
            counts[number] += change
            number += number & -number
        }
    }

    /// How many are free of those in a range.
    func count(in places: Range<Int>) -> Int { count(before: places.upperBound) - count(before: places.lowerBound) }

    private func count(before place: Int) -> Int {
        var (number, count) = (place, 0)
        while number > 0 {
            count += counts[number]
            number -= number & -number
        }
        return count
    }

    /// The first of a range that is free; `nil` where none is.
    func first(in places: Range<Int>) -> Int? {
        guard count(in: places) > 0 else { return nil }
        var (number, passed) = (0, count(before: places.lowerBound))
        var step = 1
        while step < counts.count { step *= 2 }
        while step > 0 {
            if number + step < counts.count, counts[number + step] <= passed {
                number += step
                passed -= counts[number]
            }
            step /= 2
        }
        return number
    }
}
