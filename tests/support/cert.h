// SPDX-License-Identifier: BSD-3-Clause
// cert.h: a certificate authority for one test; it signs the certificates of the test's servers.
#ifndef TESTS_SUPPORT_CERT_H
#define TESTS_SUPPORT_CERT_H

#include "support/catch.h"

#include <cstdio>
#include <memory>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string>
#include <sys/stat.h>

namespace support
{

class Authority
{
  public:
    // Writes the authority's files to @dir, which ends in a slash.
    explicit Authority(const std::string &dir, const std::string &name = "ca")
        : dir_(dir), name_(name), key_(make_key())
    {
        cert_ = make_cert(name, key_.get(), nullptr, "", 3600);
        write(name, cert_.get(), nullptr);
    }
    // The file with the certificates that clients trust.
    std::string trusted() const
    {
        return dir_ + name_ + ".pem";
    }
    // Writes a server's certificate and key, NAME.pem and NAME.key; @who such as "IP:127.0.0.1".
    void issue(const std::string &name, const std::string &who, long seconds = 3600)
    {
        Key key = make_key();
        Cert cert = make_cert(name, key.get(), this, who, seconds);

        write(name, cert.get(), key.get());
    }

  private:
    struct Free {
        void operator()(EVP_PKEY *key) const
        {
            EVP_PKEY_free(key);
        }
        void operator()(X509 *cert) const
        {
            X509_free(cert);
        }
    };
    using Key = std::unique_ptr<EVP_PKEY, Free>;
    using Cert = std::unique_ptr<X509, Free>;

    static Key make_key()
    {
        Key key(EVP_EC_gen("P-256"));

        REQUIRE(key != nullptr);
        return key;
    }
    static void add(X509 *cert, X509 *issuer, int nid, const std::string &value)
    {
        X509V3_CTX context;
        X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());

        REQUIRE(extension != nullptr);
        X509_add_ext(cert, extension, -1);
        X509_EXTENSION_free(extension);
    }
    static Cert make_cert(const std::string &name, EVP_PKEY *key, const Authority *by,
                          const std::string &who, long seconds)
    {
        static long serial;
        Cert cert(X509_new());
        X509 *issuer = by != nullptr ? by->cert_.get() : cert.get();

        X509_set_version(cert.get(), 2);
        ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(cert.get()), -7200);
        X509_gmtime_adj(X509_getm_notAfter(cert.get()), seconds);
        X509_set_pubkey(cert.get(), key);
        X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char *>(name.c_str()), -1, -1,
                                   0);
        X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer));
        if (by == nullptr)
            add(cert.get(), issuer, NID_basic_constraints, "critical,CA:TRUE");
        else
            add(cert.get(), issuer, NID_subject_alt_name, who);
        REQUIRE(X509_sign(cert.get(), by != nullptr ? by->key_.get() : key, EVP_sha256()) > 0);
        return cert;
    }
    void write(const std::string &name, X509 *cert, EVP_PKEY *key) const
    {
        FILE *file = fopen((dir_ + name + ".pem").c_str(), "w");

        REQUIRE(file != nullptr);
        REQUIRE(PEM_write_X509(file, cert) == 1);
        fclose(file);
        if (key == nullptr)
            return;
        file = fopen((dir_ + name + ".key").c_str(), "w");
        REQUIRE(file != nullptr);
        REQUIRE(fchmod(fileno(file), 0600) == 0);
        REQUIRE(PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
        fclose(file);
    }

    std::string dir_;
    std::string name_;
    Key key_;
    Cert cert_;
};

} // namespace support

#endif
