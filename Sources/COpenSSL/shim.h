#ifndef CURRENCY_LEDGER_COPENSSL_H
#define CURRENCY_LEDGER_COPENSSL_H

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <string.h>
#include <time.h>

/* What OpenSSL offers as macros only, which Swift does not see. */

static inline EVP_PKEY *ledger_ec_keygen(const char *curve) { return EVP_EC_gen(curve); }

static inline STACK_OF(X509) *ledger_x509_stack_new(void) { return sk_X509_new_null(); }
/* The stack does not own what it holds. */
static inline int ledger_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline void ledger_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int ledger_x509_stack_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *ledger_x509_stack_at(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

/* An extension in the notation of OpenSSL's configuration files ("critical,CA:TRUE"), with its issuer at hand. */
static inline X509_EXTENSION *ledger_extension(int nid, const char *value, X509 *issuer, X509 *subject) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, subject, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    return X509V3_EXT_conf_nid(NULL, &context, nid, value);
}

/* Deprecated since OpenSSL 3.0 and still there: the state of a hash as a plain value, which can be copied without an allocation. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int ledger_sha256_begin(SHA256_CTX *state) { return SHA256_Init(state); }
static inline int ledger_sha256_add(SHA256_CTX *state, const void *bytes, size_t count) {
    return SHA256_Update(state, bytes, count);
}
static inline int ledger_sha256_end(SHA256_CTX *state, unsigned char *digest) { return SHA256_Final(digest, state); }
/* The plain check of a signature by a key, which the fast one is measured against. */
static inline EC_KEY *ledger_ec_key(EVP_PKEY *key) { return EVP_PKEY_get1_EC_KEY(key); }
static inline void ledger_ec_key_free(EC_KEY *key) { EC_KEY_free(key); }
static inline int ledger_ecdsa_do_verify(const unsigned char *digest, int count, const ECDSA_SIG *signature,
                                         EC_KEY *key) {
    return ECDSA_do_verify(digest, count, signature, key);
}
#pragma GCC diagnostic pop

/* Whether an error of this thread's queue says that memory was wanting. */
static inline int ledger_is_out_of_memory(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
}
/* A name as RFC 2253 writes it, without control characters. */
static inline int ledger_print_name(BIO *out, const X509_NAME *name) {
    return X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
}
/* Whether a PEM text had no further part, by this thread's last error. */
static inline int ledger_is_end_of_pem(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline int ledger_bytes_equal(const void *a, const void *b, size_t count) { return memcmp(a, b, count) == 0; }

#endif
