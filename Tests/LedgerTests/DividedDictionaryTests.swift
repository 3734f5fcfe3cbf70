import LedgerTestKit
import Testing

@testable import Ledger

@Suite struct DividedDictionaryTests {
    /// Held against a dictionary, with so few keys that each is added, changed and removed many times.
    @Test(arguments: [UInt64](1...8)) func itHasWhatADictionaryHas(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (divided, plain) = (DividedDictionary<Int, Int>(), [Int: Int]())
        for step in 0..<5_000 {
            let key = Int.random(in: 0..<300, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: (divided[key], plain[key]) = (step, step)
            case 1: (divided[key], plain[key]) = (nil, nil)
            case 2: #expect(divided.updateValue(step, forKey: key) == plain.updateValue(step, forKey: key))
            case 3: #expect(divided.removeValue(forKey: key) == plain.removeValue(forKey: key))
            case 4:
                divided[key, default: step] += 1
                plain[key, default: step] += 1
            default:
                divided[key]? += 1
                plain[key]? += 1
            }
            #expect(divided[key] == plain[key] && divided[key, default: -1] == plain[key, default: -1])
            #expect(divided.count == plain.count && divided.isEmpty == plain.isEmpty)
        }
        #expect(Dictionary(uniqueKeysWithValues: divided.map { ($0.key, $0.value) }) == plain)
        #expect(Set(divided.keys) == Set(plain.keys))
    }

    @Test func aCopyKeepsWhatItHad() {
        var numbers = DividedDictionary<Int, Int>()
        for number in 0..<1_000 { numbers[number] = number }
        let copy = numbers
        for number in 0..<1_000 { numbers[number] = nil }
        #expect(numbers.isEmpty && copy.count == 1_000 && copy.allSatisfy { $0.key == $0.value })
    }
}
