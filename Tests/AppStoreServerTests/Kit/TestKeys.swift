import AppStore

@testable import AppStoreServer

/// Keys and a certificate of the tests' own. They protect nothing.
enum TestKeys {
    /// As App Store Connect gives it out: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`.
    static let p8 = Array(
        """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgd90L7Qpy8ci2jp9F
        bLc5YrGZaJ8yhML9sxWksvjVeeKhRANCAATCAHbNdvVbqYmhguH8IQu0Ir3ZyYtk
        hiH1GQnkqGu3C9NDKbIPPNo+0bfucjcxnp7SRQYhSOdx8vj+wY4SAVq2
        -----END PRIVATE KEY-----

        """.utf8)

    /// Its public key: `openssl pkey -pubout`.
    static let publicPEM = Array(
        """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwgB2zXb1W6mJoYLh/CELtCK92cmL
        ZIYh9RkJ5KhrtwvTQymyDzzaPtG37nI3MZ6e0kUGIUjncfL4/sGOEgFatg==
        -----END PUBLIC KEY-----

        """.utf8)

    /// The same private key, with a passphrase.
    static let encrypted = Array(
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgpsjGlmeDUbgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEq2amAfOGz+1UaJnrfnRUUEgZCf
        3iJ0HXOyi2wIRZW5dCyzLocAE3A2afNXB61oeNJVO34w1ROWVGoItguDKdrdjNkQ
        H7eIXXenjWqZ7WSldQl8ugY9B/iT/55GsQJV0FfDWYyK5wLUi4lnmkVzQ2O7escT
        vq3fPIqxR0nEtQCiJwsKE9TbFS/00WqzZEbpe/iDI940sfkVIUj6aIncZfq5Rzg=
        -----END ENCRYPTED PRIVATE KEY-----

        """.utf8)

    /// A key on another curve.
    static let onP384 = Array(
        """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBPLTr/kfmGZirbWGW9
        +rfJFCIrHZn1C+Sd9KaQxnzy7U2fQNBqEtYWGRsgN9S+dD2hZANiAATKpb+n0zoL
        lJpoIty6K7jc5yJPRF/JqmrFBNI7/DQkExqSEt0TymPsJM/sMMPrnDRJT2CGIi3x
        qoLHUrZOLQrxVLJAgeMetJOsuHGvDtFkDYaKNJejEA8MPjrq7m83QI0=
        -----END PRIVATE KEY-----

        """.utf8)

    /// For localhost and 127.0.0.1, until 2124, signed by itself.
    static let tlsCertificate = Array(
        """
        -----BEGIN CERTIFICATE-----
        MIIBaDCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjQwMTAxMDAwMDAwWhgPMjEyNDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIYG/2L5Mun8GpWQ
        dyO3yXnlBmDKj9fhxvZeOPs47V4ROMyCHXHpcjTCDgT9EWjdRQzUAXlBl2zrmh5X
        pmkRkDijTjBMMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8E
        BTADAQH/MB0GA1UdDgQWBBQF/53avxt6S+SUv4iA0bw+nXs/ajAKBggqhkjOPQQD
        AgNJADBGAiEAyjAwcjLWsHMSIxullOwgdTxqgUaNAKRlPhAD9wFtofoCIQCY//IR
        1iSH8JzFvSXECez6Nh71nLyNdJlBNJIZbNaSFw==
        -----END CERTIFICATE-----

        """.utf8)

    /// Of that certificate.
    static let tlsKey = Array(
        """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/JvPm78GmXx0SCLx
        ZlGBQ45h3Yf51/lbGp728lI1TO2hRANCAASGBv9i+TLp/BqVkHcjt8l55QZgyo/X
        4cb2Xjj7OO1eETjMgh1x6XI0wg4E/RFo3UUM1AF5QZds65oeV6ZpEZA4
        -----END PRIVATE KEY-----

        """.utf8)

    static let keyID = "2X9R4HXF34"
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"

    static func key() throws -> InAppPurchaseKey {
        try InAppPurchaseKey(p8: p8, keyID: keyID, issuerID: issuerID)
    }
}
