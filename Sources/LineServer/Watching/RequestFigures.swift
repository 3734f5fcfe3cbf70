import LedgerEngine
import LedgerMetrics
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore

/// What became of the requests of one event loop's connections, by ledger and method, and how long that took, from
/// acceptance to reply.
///
/// The event loop's thread alone counts, so that two cores do not pass a cell to and fro with each request; any thread
/// reads.
final class RequestFigures: Sendable {
    /// What a request was answered.
    enum Outcome: Int, CaseIterable {
        case ok
        /// The books' word: with funds, another key, another product it would have been carried out.
        case refused
        /// It is no request, or has wrong parameters.
        case invalid
        /// Its token does not open that, or there is none.
        case denied
        /// Its JWS is not to be believed.
        case unverified
        /// It was not carried out, or nobody knows, for reasons that are the service's.
        case failed

        init(_ reply: Reply) {
            switch reply {
            case .pong, .authenticated, .info, .reloaded: self = .ok
            case .outcome(.refused): self = .refused
            case .outcome: self = .ok
            case .error(let error): self = Outcome(code: error.code)
            }
        }

        /// By the code of an error, of which several reasons have one: no text is looked at.
        private init(code: Int) {
            switch code {
            case WireReason.parseError.code, WireReason.invalidRequest.code, WireReason.methodNotFound.code,
                WireReason.invalidParams.code:
                self = .invalid
            case WireReason.unauthenticated.code: self = .denied
            case WireReason.verificationFailed.code: self = .unverified
            case WireReason.wrongApp.code, WireReason.insufficientFunds.code: self = .refused
            default: self = .failed
            }
        }

        var name: String { "\(self)" }
    }

    /// A request that was accepted.
    struct Mark {
        fileprivate let row: Int
        /// By the monotonic clock, in nanoseconds.
        fileprivate let begin: UInt64
    }

    /// Of one ledger and one method.
    struct Reading {
        /// `nil` of what the server answered itself.
        var place: Int?
        /// `nil` of what was no request.
        var method: String?
        var outcomes: [(outcome: Outcome, count: UInt64)]
        var duration: Histogram.Reading
    }

    private static let methods = Methods.all.count + 1
    private static let scale = Histogram.Scale.durations
    /// Outcomes, then buckets, then the sum of durations.
    private static let cellsPerRow = Outcome.allCases.count + scale.bucketCount + 1

    private let ledgers: Int
    private let cells: Cells
    /// From how long on a request is slow, and who is told: its method, its ledger's place, and nanoseconds.
    private let slow: SlowNotice
    private let told: @Sendable (Method, Int?, UInt64) -> Void
    /// Where requests are traced; `nil` where they are not.
    let spans: RequestSpans?
    /// Bytes that were read, and bytes that were written.
    private let bytes = Cells(2)
    let now: @Sendable () -> UInt64

    init(
        ledgers: Int, slow: SlowNotice = SlowNotice(), spans: RequestSpans? = nil,
        now: @escaping @Sendable () -> UInt64 = { NIODeadline.now().uptimeNanoseconds },
        told: @escaping @Sendable (Method, Int?, UInt64) -> Void = { _, _, _ in }
    ) {
        self.ledgers = ledgers
        self.slow = slow
        self.spans = spans
        self.told = told
        self.now = now
        cells = Cells((ledgers + 1) * RequestFigures.methods * RequestFigures.cellsPerRow)
    }

    // MARK: On the event loop

    /// - Parameters:
    ///   - method: `nil` of what is no request.
    ///   - place: of the ledger that is asked; `nil` where the server answers by itself.
    func mark(_ method: Method?, at place: Int?, since begin: UInt64) -> Mark {
        let number = method?.number ?? Methods.all.count
        return Mark(row: (place.map { $0 + 1 } ?? 0) * RequestFigures.methods + number, begin: begin)
    }

    func note(_ outcome: Outcome, of mark: Mark, at time: UInt64) {
        let first = mark.row * RequestFigures.cellsPerRow
        let buckets = first + Outcome.allCases.count
        let duration = time > mark.begin ? time - mark.begin : 0
        cells.addAlone(1, at: first + outcome.rawValue)
        cells.addAlone(1, at: buckets + RequestFigures.scale.bucket(of: duration))
        cells.addAlone(duration, at: buckets + RequestFigures.scale.bucketCount)
        if slow.isSlow(duration) { tell(duration, of: mark) }
    }

    func asked(_ mark: Mark) -> RequestSpans.Asked {
        let (place, number) = (mark.row / RequestFigures.methods - 1, mark.row % RequestFigures.methods)
        return RequestSpans.Asked(
            method: number < Methods.all.count ? Methods.all[number] : nil, place: place < 0 ? nil : place,
            begin: mark.begin)
    }

    /// What waits for something new, as its client asked, and what has the service read files is slow by itself.
    private func tell(_ duration: UInt64, of mark: Mark) {
        let asked = asked(mark)
        guard let method = asked.method else { return }
        if [Methods.journal.method, Methods.blocks.method, Methods.reload.method].contains(method) { return }
        told(method, asked.place, duration)
    }

    func noteRead(_ count: Int) { bytes.addAlone(UInt64(count), at: 0) }
    func noteWritten(_ count: Int) { bytes.addAlone(UInt64(count), at: 1) }

    // MARK: Reading

    /// The event loops' figures, added up.
    final class Table: Sendable {
        private let loops = NIOLockedValueBox<[ObjectIdentifier: RequestFigures]>([:])
        private let ledgers: Int
        /// From how long on a request is slow.
        let slow = SlowNotice()
        private let spans: RequestSpans?
        private let told: @Sendable (Method, Int?, UInt64) -> Void

        /// - Parameters:
        ///   - spans: where requests are traced.
        ///   - told: of a request that was slow: its method, its ledger's place, and nanoseconds.
        init(
            ledgers: Int, spans: RequestSpans? = nil,
            told: @escaping @Sendable (Method, Int?, UInt64) -> Void = { _, _, _ in }
        ) {
            self.ledgers = ledgers
            self.spans = spans
            self.told = told
        }

        func figures(of eventLoop: any EventLoop) -> RequestFigures {
            loops.withLockedValue { loops in
                if let known = loops[ObjectIdentifier(eventLoop)] { return known }
                let new = RequestFigures(ledgers: ledgers, slow: slow, spans: spans, told: told)
                loops[ObjectIdentifier(eventLoop)] = new
                return new
            }
        }

        private var all: [RequestFigures] { loops.withLockedValue { Array($0.values) } }

        var read: UInt64 { all.reduce(0) { $0 + $1.bytes[0] } }
        var written: UInt64 { all.reduce(0) { $0 + $1.bytes[1] } }

        /// Of the methods that were asked at least once.
        var readings: [Reading] {
            let all = all
            return (0..<(ledgers + 1) * RequestFigures.methods).compactMap { RequestFigures.reading($0, of: all) }
        }
    }

    private static func reading(_ row: Int, of all: [RequestFigures]) -> Reading? {
        func sum(_ cell: Int) -> UInt64 { all.reduce(0) { $0 + $1.cells[row * cellsPerRow + cell] } }
        let outcomes = Outcome.allCases.map { ($0, sum($0.rawValue)) }
        if outcomes.allSatisfy({ $0.1 == 0 }) { return nil }
        var duration = Histogram.Reading(scale)
        for bucket in duration.counts.indices { duration.counts[bucket] = sum(outcomes.count + bucket) }
        duration.sum = sum(outcomes.count + scale.bucketCount)
        let (place, method) = (row / methods - 1, row % methods)
        return Reading(
            place: place < 0 ? nil : place, method: method < Methods.all.count ? Methods.all[method].description : nil,
            outcomes: outcomes, duration: duration)
    }
}
