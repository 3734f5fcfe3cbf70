import AppStore
import AppStoreServer
import Testing

/// The key's file: what is one, what is none, and that nothing shows it.
@Suite struct KeyTests {
    private static func fault(
        _ p8: [UInt8], keyID: String = TestKeys.keyID, issuerID: String = TestKeys.issuerID
    ) -> String? {
        do throws(KeyFault) {
            _ = try InAppPurchaseKey(p8: p8, keyID: keyID, issuerID: issuerID)
            return nil
        } catch { return error.description }
    }

    @Test func aFileIsReadHoweverItsLinesEnd() {
        let text = String(decoding: TestKeys.p8, as: UTF8.self)
        #expect(Self.fault(Array(text.utf8)) == nil)
        #expect(Self.fault(Array(text.dropLast().utf8)) == nil)
        #expect(Self.fault(Array(text.replacing("\n", with: "\r\n").utf8)) == nil)
    }

    @Test func aFileThatIsNoSuchKeySaysWhy() throws {
        #expect(Self.fault([]) == "is no key in PEM; it must hold one private key in PKCS #8 (BEGIN PRIVATE KEY)")
        #expect(
            Self.fault(TestKeys.publicPEM)
                == "holds PUBLIC KEY; it must hold one private key in PKCS #8 (BEGIN PRIVATE KEY)")
        #expect(
            Self.fault(TestKeys.p8 + TestKeys.p8)
                == "holds PRIVATE KEY, PRIVATE KEY; it must hold one private key in PKCS #8 (BEGIN PRIVATE KEY)")
        #expect(
            Self.fault(TestKeys.encrypted) == "is encrypted, and nobody is there to be asked for its passphrase")
        #expect(Self.fault(TestKeys.onP384) == "holds a key of EC that is not on P-256")
        // RFC 8037, Appendix A.1.
        let ed25519 = """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
            -----END PRIVATE KEY-----
            """
        #expect(Self.fault(Array(ed25519.utf8)) == "holds a key of ED25519 that is not on P-256")
        let cut = String(decoding: TestKeys.p8, as: UTF8.self).split(separator: "\n")
        let damaged = [cut[0], cut[1], cut[3], cut[4]].joined(separator: "\n")
        #expect(Self.fault(Array(damaged.utf8))?.hasPrefix("cannot read a private key") == true)
    }

    @Test(arguments: ["", " ", "2X9R4\n", "ü", String(repeating: "a", count: 257)])
    func anIDThatIsNoneSaysWhich(id: String) {
        #expect(
            Self.fault(TestKeys.p8, keyID: id)
                == "cannot be used without the key id that App Store Connect shows for it")
        #expect(
            Self.fault(TestKeys.p8, issuerID: id)
                == "cannot be used without the issuer id that App Store Connect shows for it")
    }

    @Test func nothingShowsThePrivateKey() throws {
        let key = try TestKeys.key()
        #expect("\(key)" == "key 2X9R4HXF34 of issuer 57246542-96fe-1a63-e053-0824d011072a")
        var dumped = ""
        dump(key, to: &dumped)
        dump(OfferSigner(key: key, bundleID: "a"), to: &dumped)
        dumped += String(reflecting: key) + "\(OfferSigner(key: key, bundleID: "a"))"
        for line in String(decoding: TestKeys.p8, as: UTF8.self).split(separator: "\n").dropFirst().dropLast() {
            #expect(!dumped.contains(line))
        }
        #expect(!dumped.contains("privateKey"))
    }
}
