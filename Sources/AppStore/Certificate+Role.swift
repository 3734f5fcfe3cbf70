internal import COpenSSL

/// What Apple's marks on its signing certificates say.
enum CertificateMark: String {
    /// The leaf that signs App Store receipts and transactions.
    case receiptSigning = "1.2.840.113635.100.6.11.1"
    /// The Apple Worldwide Developer Relations intermediate.
    case developerRelations = "1.2.840.113635.100.6.2.1"
}

extension Certificate {
    func carries(_ mark: CertificateMark) -> Bool {
        guard let object = OBJ_txt2obj(mark.rawValue, 1) else {
            ERR_clear_error()
            return false
        }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(x509.pointer, object, -1) >= 0
    }

    /// By its basic constraints (RFC 5280 §4.2.1.9); an old self-signed one without any is none.
    var isAuthority: Bool { X509_check_ca(x509.pointer) == 1 }

    var publicKey: Key? {
        guard let key = X509_get_pubkey(x509.pointer) else {
            ERR_clear_error()
            return nil
        }
        return Key(owning: key)
    }
}
