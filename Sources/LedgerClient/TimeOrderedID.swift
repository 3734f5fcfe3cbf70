import NIOConcurrencyHelpers

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes UUIDs of version 7 (RFC 9562 §5.7), each greater than the one before it, also within one millisecond and
/// where the system's clock is set back. Any thread may ask.
///
/// The layout: 48 bits of milliseconds, the version, 12 bits of a counter, the variant, 14 more bits of the counter,
/// 48 random bits. The counter is RFC 9562 §6.2's method 1: it starts at random in each millisecond, with its highest
/// bit clear, so that at least 2^25 steps are left; where they are used up, the next millisecond is taken ahead of its
/// time.
final class TimeOrderedID: Sendable {
    struct State {
        var milliseconds: UInt64 = 0
        var counter: UInt64 = 0
    }

    static let shared = TimeOrderedID()

    static let counterBits: UInt64 = 26
    private static let tailBits: UInt64 = 48

    private let state: NIOLockedValueBox<State>
    private let now: @Sendable () -> UInt64

    /// - Parameters:
    ///   - state: what the last one had.
    ///   - now: milliseconds since the UNIX epoch.
    init(after state: State = State(), now: @escaping @Sendable () -> UInt64 = TimeOrderedID.systemMilliseconds) {
        self.state = NIOLockedValueBox(state)
        self.now = now
    }

    /// The two halves of the next one.
    func next(using random: inout some RandomNumberGenerator) -> (high: UInt64, low: UInt64) {
        let bits = random.next()
        let seed = random.next() >> (64 - (TimeOrderedID.counterBits - 1))
        let now = now()
        let (milliseconds, counter) = state.withLockedValue { state -> (UInt64, UInt64) in
            if now > state.milliseconds {
                state = State(milliseconds: now, counter: seed)
            } else if state.counter + 1 < 1 << TimeOrderedID.counterBits {
                state.counter += 1
            } else {
                state = State(milliseconds: state.milliseconds + 1, counter: seed)
            }
            return (state.milliseconds, state.counter)
        }
        let high = milliseconds << 16 | 0x7000 | counter >> 14
        let low = 1 << 63 | (counter & 0x3FFF) << TimeOrderedID.tailBits | bits >> (64 - TimeOrderedID.tailBits)
        return (high, low)
    }

    /// The next one as text: 36 characters, lower case.
    func text() -> String {
        var random = SystemRandomNumberGenerator()
        let id = next(using: &random)
        return TimeOrderedID.text(high: id.high, low: id.low)
    }

    static func text(high: UInt64, low: UInt64) -> String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for half in [high, low] {
                for shift in stride(from: UInt64(60), through: 0, by: -4) {
                    if position == 8 || position == 13 || position == 18 || position == 23 {
                        buffer[position] = UInt8(ascii: "-")
                        position += 1
                    }
                    let digit = UInt8(truncatingIfNeeded: half >> shift & 0xF)
                    buffer[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                    position += 1
                }
            }
            return position
        }
    }

    static let systemMilliseconds: @Sendable () -> UInt64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(max(0, time.tv_sec)) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
    }
}
