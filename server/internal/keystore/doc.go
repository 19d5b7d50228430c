// Package keystore turns the files of one TLS context (the keys ssl.* or ssl.quorum.* of zoo.cfg) into
// configurations of crypto/tls, and notices when the files change. Source: operations 8.2 and 8.6.
//
// # Files
//
// A key store holds one private key and its chain, a trust store the certificates that peers are checked against.
// The formats are PEM (keys also encrypted as PKCS#8, by PBES2 or older schemes of DES), PKCS12 and JKS. Between
// PKCS12 and JKS the first bytes decide and not the name, as in Java: since version 9 keytool writes PKCS12 into files
// named .jks. A trust store of PEM may also hold revocation lists (see below). A file is at most 4 MiB.
//
// # Verification
//
// crypto/tls asks for certificates and does not check them: Keys checks every one itself, in VerifyConnection,
// which also runs when a session is resumed. So an old ticket does not admit a certificate that is no longer
// trusted, or was revoked. Names are compared as ZooKeeper does: with the DNS and IP names of the certificate
// and, only if it has neither, with its common name.
//
// # Revocation
//
// With ssl.crl=true each certificate of the chain below the root must be covered by a current list, signed by its
// issuer, in a block "X509 CRL" of the PEM trust store; a certificate without a list is refused. Lists are
// reloaded with the store. Lists are not fetched from the network, and OCSP is not supported: it is refused at
// start.
//
// # Ownership
//
// A Keys is made by Open and may be used by any number of goroutines. Its files are replaced as a whole: a
// handshake uses either the old files or the new ones. Watch is the only loop; the caller starts its goroutine.
package keystore
