import AppStore
import Ledger
import NIOConcurrencyHelpers

/// One batch in the first stage, cut into chunks that several threads verify; whoever is last puts it together.
final class Verification: Sendable {
    private struct Place {
        var submission: Int
        var operation: Int
        var account: AccountName?
    }

    private struct Progress {
        var batch: [Submission]
        var left: Int
    }

    let chunks: [Range<Int>]
    private let objects: [SignedObject]
    private let places: [Place]
    private let progress: NIOLockedValueBox<Progress>

    init(_ batch: [Submission], threads: Int, perThreadMin: Int) {
        var objects: [SignedObject] = []
        var places: [Place] = []
        for (index, submission) in batch.enumerated() where submission.signedCount > 0 {
            for (number, operation) in submission.operations.enumerated() {
                guard case .signed(let object, let account) = operation else { continue }
                objects.append(object)
                places.append(Place(submission: index, operation: number, account: account))
            }
        }
        let size = max(perThreadMin, (objects.count + threads - 1) / threads, 1)
        chunks = stride(from: 0, to: max(objects.count, 1), by: size).map { $0..<min($0 + size, objects.count) }
        self.objects = objects
        self.places = places
        progress = NIOLockedValueBox(Progress(batch: batch, left: chunks.count))
    }

    func objects(_ chunk: Range<Int>) -> [SignedObject] { Array(objects[chunk]) }

    /// Puts a chunk's results in place; the last gives the batch, with no JWS left in it that was not verified.
    func finish(_ chunk: Range<Int>, _ results: [Result<Verified, VerificationFailure>]) -> [Submission]? {
        let operations = zip(chunk, results).map { Operation($0.1, account: places[$0.0].account) }
        return progress.withLockedValue { progress in
            for (index, operation) in zip(chunk, operations) {
                let place = places[index]
                progress.batch[place.submission].operations[place.operation] = operation
            }
            progress.left -= 1
            return progress.left == 0 ? progress.batch : nil
        }
    }
}
