import AppStore
import Foundation

/// The whole verification of purchases whose chain is unknown: certificates parsed, the path built, the signature
/// checked by OpenSSL. Each is verified by a verifier of its own, which has seen no certificates; the signatures are
/// another purchase's: the check takes the same steps, and its verdict is `invalid_signature`.
final class VerifyUnknownChain: HotPathWorkload {
    private static let count = 64
    private let studio: Studio
    private let objects: [SignedObject]

    init() throws {
        let studio = try Studio()
        self.studio = studio
        let dot = UInt8(ascii: ".")
        let signed = try (0..<VerifyUnknownChain.count).map { try studio.jws($0).split(separator: dot) }
        objects = signed.indices.map { place in
            let own = signed[place]
            let other = signed[(place + 1) % signed.count]
            return .transaction(Array([own[0], own[1], other[2]].joined(separator: [dot])))
        }
    }

    func run(_ count: Int) -> Int {
        var refused = 0
        for number in 0..<count {
            let verifier = Verifier(app: studio.app, anchors: [studio.chain.root])
            let verdict = verifier.verify([objects[number % objects.count]], now: Studio.now)
            if case .failure(let failure)? = verdict.first, failure.reason == .invalidSignature { refused += 1 }
        }
        return refused
    }
}

/// The whole verification of purchases under a chain that is remembered, and whose key has its table, in batches.
final class VerifyKnownChain: HotPathWorkload {
    private static let count = 1_024
    private static let tableSecondsMax = 30.0
    let verifier: Verifier
    private let batch: Int
    private let objects: [SignedObject]

    init(batch: Int) throws {
        let studio = try Studio()
        self.batch = batch
        verifier = Verifier(app: studio.app, anchors: [studio.chain.root])
        objects = try (0..<VerifyKnownChain.count).map { .transaction(try studio.jws($0)) }
        _ = verifier.verify(objects, now: Studio.now)
        let end = Date(timeIntervalSinceNow: VerifyKnownChain.tableSecondsMax)
        while Verifier.preparesTables && verifier.preparedChainCount == 0 {
            guard Date() < end else { throw HotPathError("the key's table was not made") }
            Thread.sleep(forTimeInterval: 0.001)
        }
    }

    func run(_ count: Int) -> Int {
        var good = 0
        var start = 0
        var left = count
        while left > 0 {
            if start + batch > objects.count { start = 0 }
            let size = min(batch, left)
            for verdict in verifier.verify(Array(objects[start..<start + size]), now: Studio.now) {
                if case .success(.transaction) = verdict { good += 1 }
            }
            start += size
            left -= size
        }
        return good
    }
}

/// The check of the signature alone, as OpenSSL does it.
final class PlainVerify: HotPathWorkload {
    private let check: PlainSignatureCheck

    init() throws { check = try PlainSignatureCheck() }

    func run(_ count: Int) -> Int { check.run(count) }
}
