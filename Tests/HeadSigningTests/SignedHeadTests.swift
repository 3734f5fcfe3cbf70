import AppStore
import Ledger
import StrictJSON
import Testing

@testable import HeadSigning

/// A signed head as a compact JWS: made, read again, and refused where anything of it is not what was signed.
@Suite struct SignedHeadTests {
    /// RFC 8037, Appendix A.1, as `openssl` writes the private key in PKCS #8.
    private static let standardKey = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
        -----END PRIVATE KEY-----

        """

    private static func state() throws -> ProjectedState {
        var state = ProjectedState()
        let hash = try #require(Digest((0..<32).map { UInt8($0) }))
        state.head = LogHead(number: 42, term: 3, hash: hash)
        state.time = 1_750_000_000_000
        state.position.entry = 17
        state.currencies = [try #require(CurrencyCode("gems")), try #require(CurrencyCode("tickets"))]
        state.totals = Totals(currencies: 2)
        // Beyond what a JSON number of other programs holds.
        state.totals[1, .purchased] = Totals.Turnover(debits: 1 << 116, credits: 1)
        state.totals[1, .wallet] = Totals.Turnover(debits: 1, credits: 1 << 116)
        state.totals[2, .granted] = Totals.Turnover(debits: 5, credits: 0)
        return state
    }

    private static let identity = Digest { $0.initializeMemory(as: UInt8.self, repeating: 7) }

    private static func signer(_ key: Ed25519PrivateKey) -> HeadSigner {
        HeadSigner(
            key, ledger: BlockRows.LedgerRow(bundleID: "com.example.\"game\"", environment: "Sandbox"),
            identity: identity
        ) { 1_750_000_000_999 }
    }

    private static func key() throws -> Ed25519PrivateKey { try Ed25519PrivateKey(pem: Array(standardKey.utf8)) }

    @Test func whatIsSignedIsReadAgain() throws {
        let key = try Self.key()
        let state = try Self.state()
        let jws = try #require(try Self.signer(key).sign(state))
        let head = try SignedHead(jws: jws.utf8, key: key.publicKey)
        #expect(head.bundleID == "com.example.\"game\"" && head.environment == "Sandbox")
        #expect(head.identity == Self.identity && head.block == 42 && head.hash == state.head?.hash)
        #expect(head.entry == 17 && head.time == 1_750_000_000_000 && head.signedAt == 1_750_000_000_999)
        #expect(head.currencies == state.currencies && head.totals == state.totals)
        #expect(try Self.signer(key).sign(ProjectedState()) == nil)
    }

    /// RFC 8037, Appendices A.2 to A.4: the public key, its thumbprint, and a signature of the standard's own text.
    @Test func theStandardsKeyHasTheStandardsThumbprintAndSignature() throws {
        let key = try Self.key()
        #expect(Base64.encodeURL(key.publicKey.bytes) == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
        #expect(key.publicKey.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        let message = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
        let signature = try key.sign(message)
        #expect(
            Base64.encodeURL(signature)
                == "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
        #expect(try key.publicKey.verifies(signature, of: message))
    }

    @Test func everyChangedCharacterIsRefused() throws {
        let key = try Self.key()
        let jws = Array(try #require(try Self.signer(key).sign(try Self.state())).utf8)
        for place in jws.indices {
            var changed = jws
            changed[place] = jws[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: SignedHeadFault.self, "character \(place)") {
                try SignedHead(jws: changed, key: key.publicKey)
            }
            #expect(throws: SignedHeadFault.self) { try SignedHead(jws: jws[..<place], key: key.publicKey) }
        }
    }

    /// A JWS of any header and payload, signed by the key.
    private static func jws(_ header: String, _ payload: String, _ key: Ed25519PrivateKey) throws -> String {
        let input = Base64.encodeURL(Array(header.utf8)) + "." + Base64.encodeURL(Array(payload.utf8))
        return input + "." + Base64.encodeURL(try key.sign(Array(input.utf8)))
    }

    private static let header = #"{"alg":"EdDSA","typ":"currency-ledger-head+json"}"#
    private static let turnovers = AccountKind.allCases.map { #""\#($0.name)":{"debits":"0","credits":"0"}"# }
        .joined(separator: ",")
    private static func payload(_ change: (String, String) = ("", "")) -> String {
        let digest = String(repeating: "0a", count: 32)
        let text = """
            {"format":1,"bundleId":"a","environment":"b","ledger":"\(digest)","block":1,"hash":"\(digest)","entry":0,\
            "time":1,"signedAt":2,"totals":{"gems":{\(turnovers)}},"later":[1]}
            """
        return change.0.isEmpty ? text : text.replacing(change.0, with: change.1)
    }

    @Test func whatIsSignedButNoHeadIsRefusedByName() throws {
        let key = try Self.key()
        // What a later version may add is passed over.
        let whole = try SignedHead(jws: try Self.jws(Self.header, Self.payload(), key).utf8, key: key.publicKey)
        #expect(whole.block == 1 && whole.currencies.map(\.text) == ["gems"])
        let cases: [(header: String, payload: String, words: String)] = [
            (Self.header.replacing("EdDSA", with: "none"), Self.payload(), "is signed by alg none, not EdDSA"),
            (Self.header.replacing("EdDSA", with: "HS256"), Self.payload(), "is signed by alg HS256"),
            (#"{"typ":"currency-ledger-head+json"}"#, Self.payload(), "is signed by alg none"),
            (#"{"alg":"EdDSA","typ":"JWT"}"#, Self.payload(), "its typ is JWT"),
            (#"{"alg":"EdDSA"}"#, Self.payload(), "its typ is missing"),
            (Self.header.dropLast() + #","crit":["b64"]}"#, Self.payload(), "crit"),
            (Self.header.dropLast() + #","kid":"another"}"#, Self.payload(), "is signed by the key another"),
            ("[]", Self.payload(), "the JWS header"), (Self.header, "{", "cannot be read"),
            (Self.header, Self.payload((#""format":1"#, #""format":2"#)), "this program reads format 1"),
            (Self.header, Self.payload((#""format":1,"#, "")), "format"),
            (Self.header, Self.payload((#""block":1,"#, "")), "block"),
            (Self.header, Self.payload((#""hash":"0a"#, #""hash":"0A"#)), "hash"),
            (Self.header, Self.payload((#""spent":{"#, #""spend":{"#)), "is not a kind of account"),
            (Self.header, Self.payload((#","spent":{"debits":"0","credits":"0"}"#, "")), "lacks the account spent"),
            (Self.header, Self.payload((#""debits":"0""#, #""debits":"00""#)), "must be a sum"),
            (Self.header, Self.payload((#""debits":"0""#, #""debits":"-1""#)), "must be a sum"),
            (Self.header, Self.payload((#""debits":"0""#, #""debits":0"#)), "must be a string"),
        ]
        for (header, payload, words) in cases {
            let jws = try Self.jws(header, payload, key)
            let fault = #expect(throws: SignedHeadFault.self, "\(words)") {
                try SignedHead(jws: jws.utf8, key: key.publicKey)
            }
            #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "") instead of \(words)")
        }
    }

    // MARK: Keys

    private static func publicFault(_ pem: String) throws -> String {
        try #require(throws: KeyFault.self) { try Ed25519PublicKey(pem: Array(pem.utf8)) }.description
    }

    private static func privateFault(_ pem: String) throws -> String {
        try #require(throws: KeyFault.self) { try Ed25519PrivateKey(pem: Array(pem.utf8)) }.description
    }

    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
        -----END PUBLIC KEY-----
        """

    @Test func keysOfOtherKindsAreRefusedByName() throws {
        #expect(try Ed25519PublicKey(pem: Array(Self.publicKey.utf8)) == Self.key().publicKey)
        #expect(try Self.publicFault(Self.standardKey).contains("holds PRIVATE KEY; it must hold one BEGIN PUBLIC KEY"))
        #expect(try Self.publicFault("").contains("is no key in PEM"))
        #expect(try Self.publicFault(Self.publicKey.replacing("MCowBQ", with: "MCoxBQ")).contains("cannot read"))
        #expect(try Self.publicFault(Self.publicKey + "\n" + Self.publicKey).contains("PUBLIC KEY, PUBLIC KEY"))
        #expect(try Self.privateFault(Self.publicKey).contains("holds PUBLIC KEY; it must hold one private key"))
        #expect(try Self.privateFault("key").contains("is no key in PEM"))
        #expect(try Self.privateFault(Self.standardKey.replacing("MC4C", with: "MC5C")).contains("cannot read"))
        #expect(
            try Self.privateFault(Self.standardKey.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"))
                .contains("is encrypted"))
        #expect(
            try Self.privateFault(Self.standardKey.replacing("PRIVATE", with: "EC PRIVATE"))
                .contains("holds EC PRIVATE KEY"))
        // X25519: as long, and no key that signs.
        let agreement = Self.standardKey.replacing("K2VwBCIE", with: "K2VuBCIE")
        #expect(try Self.privateFault(agreement).contains("holds a key of X25519, not of Ed25519"))
    }
}
