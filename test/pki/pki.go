// Package pki makes certificates for tests: authorities, what they sign, and lists of what they have revoked. Keys
// are ECDSA on P-256, which are fast to make. Nothing here is fit for use outside of tests. A failure panics: there
// is no input that could cause one.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// CA is an authority. It may be used by one goroutine at a time.
type CA struct {
	// Cert is its own certificate.
	Cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	chain  []*x509.Certificate // from its own certificate up to the root, without the root
	serial int64
	list   int64
}

// Leaf is a certificate with its key and the authorities between it and the root.
type Leaf struct {
	Cert  *x509.Certificate
	Key   crypto.Signer
	Chain []*x509.Certificate // Cert first
}

// Options is what a certificate says. The zero value is valid for an hour, for both sides of a connection, and names
// no host.
type Options struct {
	// Name is the common name of the subject.
	Name string
	// RawSubject is the whole subject in DER; it wins over Name.
	RawSubject []byte
	// Hosts are DNS names and addresses.
	Hosts []string
	// Emails go to the alternative names, too.
	Emails []string
	// NotAfter is when it expires; zero is in an hour.
	NotAfter time.Time
	// Usage are the extended usages; nil is client and server.
	Usage []x509.ExtKeyUsage
	// RSA makes a key of 2048 bits for RSA, to sign with which takes long, in place of one for P-256.
	RSA bool
}

// NewCA returns a root authority.
func NewCA(name string) *CA {
	key := newKey()
	ca := &CA{key: key, serial: 1}
	t := authority(name, 1)
	ca.Cert = sign(t, t, &key.PublicKey, key)
	return ca
}

// Sub returns an authority that ca has signed.
func (ca *CA) Sub(name string) *CA {
	key := newKey()
	sub := &CA{key: key, serial: 1}
	sub.Cert = sign(authority(name, ca.next()), ca.Cert, &key.PublicKey, ca.key)
	sub.chain = append([]*x509.Certificate{sub.Cert}, ca.chain...)
	return sub
}

func authority(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
}

func (ca *CA) next() int64 {
	ca.serial++
	return ca.serial
}

// Issue signs a certificate.
func (ca *CA) Issue(o Options) *Leaf {
	var key crypto.Signer = newKey()
	if o.RSA {
		key = must(rsa.GenerateKey(rand.Reader, 2048))
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(ca.next()), Subject: pkix.Name{CommonName: o.Name}, RawSubject: o.RawSubject,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: o.NotAfter, EmailAddresses: o.Emails,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: o.Usage,
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = time.Now().Add(time.Hour)
	}
	if t.ExtKeyUsage == nil {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	}
	for _, host := range o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	l := &Leaf{Key: key, Cert: sign(t, ca.Cert, key.Public(), ca.key)}
	l.Chain = append([]*x509.Certificate{l.Cert}, ca.chain...)
	return l
}

// PEM is the authority's certificate.
func (ca *CA) PEM() []byte { return block("CERTIFICATE", ca.Cert.Raw) }

// Revoke returns a PEM block with a list of what ca has revoked, which is out of date after the given time.
func (ca *CA) Revoke(until time.Time, revoked ...*x509.Certificate) []byte {
	ca.list++
	t := &x509.RevocationList{Number: big.NewInt(ca.list), ThisUpdate: time.Now().Add(-2 * time.Hour),
		NextUpdate: until}
	for _, x := range revoked {
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: x.SerialNumber, RevocationTime: time.Now().Add(-time.Hour)})
	}
	return block("X509 CRL", must(x509.CreateRevocationList(rand.Reader, t, ca.Cert, ca.key)))
}

// PEM is the key and the chain, as a key store of type PEM has them.
func (l *Leaf) PEM() []byte {
	b := block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(l.Key)))
	for _, x := range l.Chain {
		b = append(b, block("CERTIFICATE", x.Raw)...)
	}
	return b
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func sign(t, parent *x509.Certificate, public crypto.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, parent, public, key))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
