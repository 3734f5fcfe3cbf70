import Ledger
import NIOConcurrencyHelpers

/// How calls ended that could not be recorded, for the ledger could not be written. They are recorded first when it can
/// be, and until then nothing more is told: so they are those of one group of each kind at most
/// (``Reach/groupMax``), and Apple is not told the same again.
final class Unrecorded: Sendable {
    private let calls = NIOLockedValueBox<[Books.CallKey: AppStoreCall]>([:])

    var all: [AppStoreCall] { calls.withLockedValue { Array($0.values) } }

    func keep(_ call: AppStoreCall) { calls.withLockedValue { $0[Books.CallKey(call)] = call } }

    /// It was recorded.
    func forget(_ call: AppStoreCall) { calls.withLockedValue { $0[Books.CallKey(call)] = nil } }

    /// Another ledger leads, and tells Apple what this one has not recorded.
    func forgetAll() { calls.withLockedValue { $0 = [:] } }
}
