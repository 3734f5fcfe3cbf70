import COpenSSL
import Foundation
import LedgerTestKit
import StrictJSON
import Testing

@testable import AppStore

/// Certificates that anybody may write: what they cost, what is remembered of them, and that they are not believed.
@Suite struct ForgedChainTests {
    let fixture: Fixture
    init() throws { fixture = try Fixture.shared.get() }

    private var payload: [UInt8] { fixture.transaction().json() }

    /// `nil` where it was postponed.
    private func result(
        _ jws: [UInt8], _ verifier: Verifier, newPathsMax: Int = .max
    ) -> Result<Verified, VerificationFailure>? {
        verifier.verify([.transaction(jws)], now: Fixture.now, newPathsMax: newPathsMax)[0]
    }

    /// What is said of it: `accepted`, `postponed`, or the failure.
    private func verdict(_ jws: [UInt8], _ verifier: Verifier, newPathsMax: Int = .max) -> String {
        switch result(jws, verifier, newPathsMax: newPathsMax) {
        case nil: "postponed"
        case .success: "accepted"
        case .failure(let failure): failure.description
        }
    }

    private func verifier(_ anchors: [Certificate]) -> Verifier { Verifier(app: fixture.app, anchors: anchors) }

    /// Chains whose third certificate is said to have signed the second, by keys that are slow to use.
    private func slowChains() throws -> [[[UInt8]]] {
        var chain = try ForgedChain()
        let keys: [([UInt8], ForgedCertificate.Algorithm, [UInt8])] = [
            (ForgedCertificate.slowRSAKey, .rsa384, ForgedCertificate.odd(384).map { $0 >> 1 }),
            (ForgedCertificate.slowDSAKey, .dsa256, ForgedCertificate.noSignature),
        ]
        return try keys.map { key, algorithm, signature in
            chain.root.publicKey = key
            chain.intermediate.algorithm = algorithm
            return [
                try chain.leaf.der(signedBy: chain.intermediateKey), chain.intermediate.der(signature: signature),
                try chain.root.der(signedBy: chain.rootKey),
            ]
        }
    }

    @Test func whoNamesNoAnchorIsRefusedWithoutASignatureBeingChecked() throws {
        let key = try Key.generate(.p256)
        for verifier in [verifier([]), verifier([fixture.chain.root])] {
            for certificates in try slowChains() + [ForgedChain().certificates()] {
                let jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: key)
                #expect(verdict(jws, verifier, newPathsMax: 0).hasPrefix("untrusted_root: "))
            }
            // It cost nothing, so nothing is remembered of it.
            #expect(verifier.refusedPathCount == 0)
        }
    }

    @Test func keysOfOtherKindsAreNeverUsed() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let root = try chain.root.der(signedBy: chain.rootKey)
        chain.intermediate.publicKey = ForgedCertificate.slowDSAKey
        chain.leaf.algorithm = .ecdsa384
        var certificates = [
            chain.leaf.der(signature: ForgedCertificate.noSignature),
            try chain.intermediate.der(signedBy: chain.rootKey), root,
        ]
        var jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(
            verdict(jws, verifier, newPathsMax: 0)
                == "invalid_certificate_chain: the intermediate's key is not on P-256 or P-384")
        // Not even where the anchor signed them.
        chain.intermediate.publicKey = ForgedCertificate.slowRSAKey
        certificates[1] = try chain.intermediate.der(signedBy: chain.rootKey)
        jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(
            verdict(jws, verifier)
                == "invalid_certificate_chain: an issuer's key is not on P-256 or P-384, nor of RSA of the"
                + " sizes that are taken")
        chain.leaf.publicKey = ForgedCertificate.slowRSAKey
        certificates[0] = chain.leaf.der(signature: ForgedCertificate.noSignature)
        jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(
            verdict(jws, verifier, newPathsMax: 0) == "invalid_certificate_chain: the leaf's key is not on P-256")
    }

    @Test func aRefusedListOfCertificatesIsRememberedWhateverTheHeaderSaysBesides() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let good = try chain.jws(payload: payload)
        chain.intermediate.serial = 2
        var certificates = try chain.certificates()
        certificates[1] = try chain.intermediate.der(signedBy: Key.generate(.p384))
        let forged = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(verdict(forged, verifier, newPathsMax: 0) == "postponed")
        #expect(verdict(forged, verifier, newPathsMax: 1).hasPrefix("invalid_certificate_chain: "))
        #expect(verifier.refusedPathCount == 1)
        for other in ["", #""kid":"1","#, #""typ":"JWT","#] {
            let again = try ForgedChain.jws(
                payload: payload, certificates: certificates, other: other, key: chain.leafKey)
            #expect(verdict(again, verifier, newPathsMax: 0).hasPrefix("invalid_certificate_chain: "))
        }
        #expect(verdict(good, verifier) == "accepted")
    }

    @Test func aStormOfNewListsIsBoundedAndPushesOutNothingThatIsTrusted() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let good = try chain.certificates()
        #expect(
            verdict(try ForgedChain.jws(payload: payload, certificates: good, key: chain.leafKey), verifier)
                == "accepted")
        var certificates = good
        for number in 0..<UInt32(AppStoreLimits.refusedPathsRememberedMax + 20) {
            chain.intermediate.serial = 100 + number
            certificates[1] = chain.intermediate.der(signature: ForgedCertificate.noSignature)
            let jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
            #expect(verdict(jws, verifier).hasPrefix("invalid_certificate_chain: "))
        }
        #expect(verifier.refusedPathCount == AppStoreLimits.refusedPathsRememberedMax)
        let varied = try ForgedChain.jws(
            payload: payload, certificates: good, other: #""kid":"1","#, key: chain.leafKey)
        #expect(verdict(varied, verifier, newPathsMax: 0) == "accepted")
    }

    @Test func whatMayBecomeGoodIsNotRemembered() throws {
        let chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let certificates = try chain.certificates()
        let stranger = try Key.generate(.p256)
        let old = fixture.transaction { $0.signedDate = 0 }.json()
        let ahead = fixture.transaction { $0.signedDate = Fixture.now + Fixture.day }.json()
        let foreign = fixture.transaction { $0.bundleID = "com.example.other" }.json()
        let wrong: [([UInt8], Key, String)] = [
            (payload, stranger, "invalid_signature"), (old, chain.leafKey, "certificate_expired"),
            (ahead, chain.leafKey, "invalid_payload"), (foreign, chain.leafKey, "wrong_app"),
            (Array("{}".utf8), chain.leafKey, "invalid_payload"),
        ]
        for (payload, key, reason) in wrong {
            let jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: key)
            #expect(verdict(jws, verifier).hasPrefix(reason))
        }
        #expect(verifier.refusedPathCount == 0)
        let good = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(verdict(good, verifier, newPathsMax: 0) == "accepted")
    }

    @Test func knownCertificatesDoNotWaitForUnknownOnes() throws {
        let chain = try ForgedChain(), other = try ForgedChain()
        let verifier = verifier([try chain.anchor, try other.anchor])
        let known = try chain.jws(payload: payload)
        let new = try other.jws(payload: payload)
        let forged = try ForgedChain().jws(payload: payload)
        #expect(verdict(known, verifier) == "accepted")
        func verdicts(newPathsMax: Int) -> [String] {
            verifier.verify(
                [.transaction(new), .transaction(known), .transaction(forged), .transaction(new)], now: Fixture.now,
                newPathsMax: newPathsMax
            ).map { result in
                switch result {
                case nil: "postponed"
                case .success: "accepted"
                case .failure(let failure): failure.reason.rawValue
                }
            }
        }
        #expect(verdicts(newPathsMax: 0) == ["postponed", "accepted", "untrusted_root", "postponed"])
        // What was found for the first serves the last of them.
        #expect(verdicts(newPathsMax: 1) == ["accepted", "accepted", "untrusted_root", "accepted"])
        #expect(verdicts(newPathsMax: 0) == ["accepted", "accepted", "untrusted_root", "accepted"])
    }

    @Test func aNotificationWaitsForTheCertificatesOfBoth() throws {
        let outer = try ForgedChain(), inner = try ForgedChain()
        let verifier = verifier([try outer.anchor, try inner.anchor])
        let transaction = String(decoding: try inner.jws(payload: payload), as: UTF8.self)
        let notification = try outer.jws(payload: fixture.notification(signedTransaction: transaction).json())
        func isPostponed(newPathsMax: Int) -> Bool {
            verifier.verify([.notification(notification)], now: Fixture.now, newPathsMax: newPathsMax)[0] == nil
        }
        // Each time one of them is verified, and remembered.
        #expect(isPostponed(newPathsMax: 0))
        #expect(isPostponed(newPathsMax: 1))
        #expect(!isPostponed(newPathsMax: 1))
        #expect(throws: Never.self) { try verifier.verify(notification: notification, now: Fixture.now) }
    }

    @Test func theIntermediateThatIsTrustedMustCarryTheMark() throws {
        var chain = try ForgedChain()
        let marked = try chain.certificates()
        chain.intermediate.isMarked = false
        let unmarked = try chain.intermediate.der(signedBy: chain.rootKey)
        let verifier = verifier([try Certificate(der: unmarked)])
        // Of the same name and key as the anchor, with the mark that the anchor lacks.
        let jws = try ForgedChain.jws(payload: payload, certificates: marked, key: chain.leafKey)
        #expect(verdict(jws, verifier).hasPrefix("untrusted_root: "))
        let own = try ForgedChain.jws(
            payload: payload, certificates: [marked[0], unmarked, marked[2]], key: chain.leafKey)
        #expect(
            verdict(own, verifier) == "invalid_certificate_chain: the intermediate lacks Apple's mark for it")
        #expect(verdict(jws, self.verifier([try Certificate(der: marked[1])])) == "accepted")
    }

    /// With the point at infinity for a key, u₁G + u₂Q is u₁G, whatever was signed: (x(G), e) signs e.
    @Test func aLeafWithThePointAtInfinityIsRefused() throws {
        var chain = try ForgedChain()
        chain.leaf.publicKey = ForgedCertificate.infinity
        let generatorX: [UInt8] = [
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
            0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
        ]
        let input =
            String(decoding: ForgedChain.headerSegment(try chain.certificates()), as: UTF8.self) + "."
            + Base64.encodeURL(payload)
        let digest = SHA256.hash(Array(input.utf8))
        let jws = Array("\(input).\(Base64.encodeURL(generatorX + digest))".utf8)
        #expect(
            verdict(jws, verifier([try chain.anchor]))
                == "invalid_certificate_chain: a certificate's key is not a point of its curve, or the one at infinity")
    }

    @Test func namesAreComparedByteForByte() throws {
        // OpenSSL takes these for one name (RFC 5280 §7.1); and K for the Kelvin sign, who compares texts.
        for (issuer, subject) in [("middle", "Middle"), ("Middle  K", "Middle K"), ("Middle \u{212A}", "Middle K")] {
            var chain = try ForgedChain()
            chain.intermediate.subject = subject
            chain.leaf.issuer = issuer
            let verifier = verifier([try chain.anchor])
            #expect(
                verdict(try chain.jws(payload: payload), verifier, newPathsMax: 0)
                    == "invalid_certificate_chain: the intermediate did not issue the leaf")
            chain.leaf.issuer = subject
            chain.intermediate.issuer = "root"
            #expect(
                verdict(try chain.jws(payload: payload), verifier, newPathsMax: 0)
                    == "invalid_certificate_chain: the third certificate did not issue the intermediate")
        }
    }

    @Test func weakSignaturesAreRefusedUnderAConfiguredAnchorToo() throws {
        for place in 0...1 {
            var chain = try ForgedChain()
            if place == 0 { chain.leaf.algorithm = .ecdsaSHA1 } else { chain.intermediate.algorithm = .ecdsaSHA1 }
            #expect(
                verdict(try chain.jws(payload: payload), verifier([try chain.anchor]), newPathsMax: 0)
                    == "invalid_certificate_chain: x5c[\(place)] is not signed by ECDSA or RSA over SHA-256, SHA-384 or"
                    + " SHA-512")
        }
        var chain = try ForgedChain(rootKey: ForgedCertificate.rsa(bits: 2_048))
        (chain.intermediate.algorithm, chain.root.algorithm) = (.rsaSHA1, .rsa384)
        #expect(
            verdict(try chain.jws(payload: payload), verifier([try chain.anchor])).hasPrefix(
                "invalid_certificate_chain: x5c[1] is not signed by"))
    }

    @Test(arguments: [(1_024, 65_537), (2_048, 65_537), (2_048, 3), (4_096, 65_537), (4_104, 65_537)])
    func anAnchorOfRSAMustBeNeitherWeakNorSlow(bits: Int32, exponent: UInt) throws {
        var chain = try ForgedChain(rootKey: ForgedCertificate.rsa(bits: bits, exponent: exponent))
        (chain.intermediate.algorithm, chain.root.algorithm) = (.rsa384, .rsa384)
        let isFit = (2_048...4_096).contains(bits) && exponent != 3
        let verdict = verdict(try chain.jws(payload: payload), verifier([try chain.anchor]))
        #expect(
            verdict
                == (isFit
                    ? "accepted"
                    : "invalid_certificate_chain: an issuer's key is not on P-256 or P-384, nor of RSA of the"
                        + " sizes that are taken"))
        #expect(try chain.anchor.faultAsAnchor == nil || !isFit)
        #expect(try (chain.anchor.faultAsAnchor ?? "its key").hasPrefix("its key"))
    }

    @Test func ofTwoAnchorsOfOneNameBothAreTrusted() throws {
        let chains = [try ForgedChain(), try ForgedChain()]
        let anchors = try chains.map { try $0.anchor }
        #expect(chains[0].root.subject == chains[1].root.subject)
        for chain in chains {
            for order in [anchors, anchors.reversed()] {
                #expect(verdict(try chain.jws(payload: payload), verifier(order)) == "accepted")
            }
        }
    }

    /// A root and its renewal with the same key, whichever of them a header has.
    @Test func ofTwoAnchorsOfOneNameAndKeyEachCountsInItsTime() throws {
        var chain = try ForgedChain()
        chain.root.validity = ("250101000000Z", "250601000000Z")
        let (old, below) = (try chain.anchor, try chain.certificates().prefix(2))
        chain.root.validity = ("250601000001Z", "270101000000Z")
        chain.root.serial = 2
        let new = try chain.anchor
        for anchors in [[old, new], [new, old], [old], [new]] {
            let verifier = verifier(anchors)
            for third in [old, new] {
                for (days, anchor) in [(-300, old), (0, new)] as [(Int64, Certificate)] {
                    let payload = fixture.transaction { $0.signedDate = Fixture.now + days * Fixture.day - 1 }.json()
                    let jws = try ForgedChain.jws(
                        payload: payload, certificates: below + [third.der], key: chain.leafKey)
                    let expected = anchors.contains(anchor) ? "accepted" : "certificate_expired"
                    #expect(verdict(jws, verifier).hasPrefix(expected), "\(anchors.count) anchors, \(days) days")
                }
            }
        }
    }

    @Test func aPathIsRememberedWhateverStandsInAHeaderThatItDoesNotDependOn() throws {
        let other = try ForgedChain()
        let others = try other.certificates()
        var chain = try ForgedChain()
        let genuine = try chain.certificates()
        for (anchor, isSecond) in [(genuine[2], false), (genuine[1], true)] {
            let verifier = verifier([try other.anchor, try Certificate(der: anchor)])
            func verdict(_ certificates: [[UInt8]], _ key: Key, newPathsMax: Int) throws -> String {
                // A header that is not remembered.
                let kid = "\"kid\":\"\(Int.random(in: 0...Int.max))\","
                let jws = try ForgedChain.jws(payload: payload, certificates: certificates, other: kid, key: key)
                return self.verdict(jws, verifier, newPathsMax: newPathsMax)
            }
            #expect(try verdict(others, other.leafKey, newPathsMax: 1) == "accepted")
            #expect(try verdict(genuine, chain.leafKey, newPathsMax: 1) == "accepted")
            for number in 0..<UInt32(AppStoreLimits.pathsRememberedMax + 20) {
                chain.root.serial = 1_000 + number
                // Nobody has to have signed it.
                var varied = genuine
                varied[2] = chain.root.der(signature: ForgedCertificate.noSignature)
                #expect(try verdict(varied, chain.leafKey, newPathsMax: 0) == "accepted", "second: \(isSecond)")
            }
            #expect(try verdict(others, other.leafKey, newPathsMax: 0) == "accepted")
        }
    }

    @Test func ofPathsThatAreTrustedTheOldestIsForgottenFirst() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let above = try chain.certificates().suffix(2)
        let stranger = try Key.generate(.p256)
        // The signature is nobody's, so no header is remembered; that is told behind a path that is trusted.
        let list = try (0...AppStoreLimits.pathsRememberedMax).map { number in
            chain.leaf.serial = UInt32(number) + 1
            let leaf = try chain.leaf.der(signedBy: chain.intermediateKey)
            return try ForgedChain.jws(payload: payload, certificates: [leaf] + above, key: stranger)
        }
        for jws in list {
            #expect(verdict(jws, verifier, newPathsMax: 0) == "postponed")
            #expect(verdict(jws, verifier, newPathsMax: 1).hasPrefix("invalid_signature"))
        }
        let left = list.map { verdict($0, verifier, newPathsMax: 0).hasPrefix("invalid_signature") }
        #expect(left == [false] + Array(repeating: true, count: AppStoreLimits.pathsRememberedMax))
    }

    @Test func anAnchorIsKnownByItsNameAndKeyInAnotherCertificateToo() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        chain.root.serial = 77
        #expect(verdict(try chain.jws(payload: payload), verifier) == "accepted")
        var certificates = try chain.certificates()
        chain.root.publicKey = ForgedCertificate.encoded(try Key.generate(.p384))
        certificates[2] = try chain.root.der(signedBy: chain.rootKey)
        let jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: chain.leafKey)
        #expect(verdict(jws, verifier, newPathsMax: 0).hasPrefix("untrusted_root: "))
    }

    @Test func aFileMayHoldSeveralAnchors() throws {
        let certificates = [fixture.chain.root, fixture.chain.intermediate, fixture.chain.leaf]
        let text = try certificates.flatMap { try $0.pem() }
        #expect(try Certificate.all(file: text) == certificates)
        #expect(try Certificate.all(file: fixture.chain.root.der) == [fixture.chain.root])
        #expect(throws: OpenSSLError.self) { try Certificate(file: text) }
        // A later one that is broken is not passed over.
        let broken = String(decoding: text, as: UTF8.self)
        let second = try #require(broken.range(of: "MII", options: .backwards))
        #expect(throws: OpenSSLError.self) {
            try Certificate.all(file: Array(broken.replacingCharacters(in: second, with: "M*I").utf8))
        }
        let cut = Array(text.dropLast(40))
        #expect(throws: OpenSSLError.self) { try Certificate.all(file: cut) }
        for none in ["", "no certificate", "-----BEGIN CERTIFICATE-----"] {
            #expect(throws: OpenSSLError.self) { try Certificate.all(file: Array(none.utf8)) }
        }
    }

    /// What each costs, in processor time: printed, and not judged.
    @Test func whatForgedCertificatesCost() throws {
        var chain = try ForgedChain()
        let verifier = verifier([try chain.anchor])
        let key = chain.leafKey
        let good = try chain.certificates()
        let known = try ForgedChain.jws(payload: payload, certificates: good, key: key)
        _ = verifier.verify([.transaction(known)], now: Fixture.now)
        func report(_ name: String, count: Int, _ body: (Int) throws -> Void) rethrows {
            let start = clock()
            for number in 0..<count { try body(number) }
            let each = Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(count) * 1e6
            print("cost, µs of processor time:", name, String(format: "%.1f", each))
        }
        report("a purchase under a known header", count: 2_000) { _ in
            _ = verifier.verify([.transaction(known)], now: Fixture.now)
        }
        let slow = try slowChains()
        for (name, certificates) in zip(["RSA with a long exponent", "DSA"], slow) {
            let jws = try ForgedChain.jws(payload: payload, certificates: certificates, key: key)
            let (issuer, subject) = (try Certificate(der: certificates[2]), try Certificate(der: certificates[1]))
            report("\(name), OpenSSL's check of the one signature", count: 20) { _ in
                _ = X509_verify(subject.x509.pointer, X509_get0_pubkey(issuer.x509.pointer))
                ERR_clear_error()
            }
            report("\(name), forged JWS", count: 2_000) { _ in
                _ = verifier.verify([.transaction(jws)], now: Fixture.now)
            }
        }
        var certificates = good
        let new = try (0..<UInt32(200)).map { number in
            chain.intermediate.serial = 100 + number
            certificates[1] = chain.intermediate.der(signature: ForgedCertificate.noSignature)
            return try ForgedChain.jws(payload: payload, certificates: certificates, key: key)
        }
        report("new certificates that name the anchor, forged JWS", count: new.count) { number in
            _ = verifier.verify([.transaction(new[number])], now: Fixture.now)
        }
        report("the same again, remembered", count: new.count) { number in
            _ = verifier.verify([.transaction(new[number])], now: Fixture.now)
        }
        let strange = try (0..<200).map { number in
            try ForgedChain.jws(
                payload: payload, certificates: good, other: "\"kid\":\(number),", key: Key.generate(.p256))
        }
        report("true certificates in new headers, forged JWS", count: strange.count) { number in
            _ = verifier.verify([.transaction(strange[number])], now: Fixture.now)
        }
        let chains = try (0..<20).map { _ in
            let other = try ForgedChain(rootKey: chain.rootKey)
            return try ForgedChain.jws(payload: payload, certificates: other.certificates(), key: other.leafKey)
        }
        report("new certificates that are good", count: chains.count) { number in
            _ = verifier.verify([.transaction(chains[number])], now: Fixture.now)
        }
    }
}
