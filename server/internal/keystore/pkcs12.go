package keystore

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"

	"software.sslmate.com/src/go-pkcs12"
)

var errPKCS12Password = errors.New("the PKCS12 file cannot be opened: wrong password?")

// decodePKCS12 reads a key with its chain or, if there is none, the certificates that Java marks as trusted.
func decodePKCS12(data []byte, password string) (*contents, error) {
	key, leaf, rest, keyErr := pkcs12.DecodeChain(data, password)
	if keyErr == nil {
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, errKeyKind
		}
		c := &contents{key: signer, trusted: marked(data, password)}
		c.chain = append(append(c.chain, leaf), rest...)
		if len(c.trusted) == 0 {
			c.trusted = append(c.trusted, leaf)
		}
		// The library takes the first certificate for that of the key. A trusted one may come before it.
		isLeaf := func(x *x509.Certificate) bool { return sameKey(x.PublicKey, signer.Public()) }
		if i := slices.IndexFunc(c.chain, isLeaf); i > 0 {
			leaf = c.chain[i]
			c.chain = slices.Insert(slices.Delete(c.chain, i, i+1), 0, leaf)
		}
		if !slices.ContainsFunc(c.trusted, leaf.Equal) {
			c.trusted = append(c.trusted, leaf) // Java trusts it, too
		}
		return c, nil
	}
	if errors.Is(keyErr, pkcs12.ErrIncorrectPassword) {
		return nil, errPKCS12Password
	}
	trusted, err := pkcs12.DecodeTrustStore(data, password)
	if err != nil {
		return nil, errors.Join(err, keyErr)
	}
	return &contents{trusted: trusted}, nil
}

// The parts of a PKCS12 file that lead to the attributes of certificates. Source: RFC 7292 sections 4 and 4.2,
// RFC 5652 section 6.1.
type (
	pfx struct {
		Version int
		Safe    contentInfo
		MAC     asn1.RawValue `asn1:"optional"`
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"tag:0,explicit"`
	}
	encryptedData struct {
		Version int
		Info    struct {
			Type      asn1.ObjectIdentifier
			Algorithm pkix.AlgorithmIdentifier
			Data      []byte `asn1:"tag:0"`
		}
	}
	safeBag struct {
		Type       asn1.ObjectIdentifier
		Value      asn1.RawValue     `asn1:"tag:0,explicit"`
		Attributes []pkcs12Attribute `asn1:"set,optional"`
	}
	pkcs12Attribute struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue
	}
	certBag struct {
		Type asn1.ObjectIdentifier
		Data []byte `asn1:"tag:0,explicit"`
	}
)

var (
	oidCertBag       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	oidTrustedByJava = asn1.ObjectIdentifier{2, 16, 840, 1, 113894, 746875, 1, 1}
)

// marked returns the certificates beside a key that Java marks as trusted. The library opens such a file, but does not
// tell the marks. Certificates under a cipher that only the library has, RC2, are left out.
func marked(data []byte, password string) (trusted []*x509.Certificate) {
	var file pfx
	var safe []byte
	var parts []contentInfo
	if !unmarshal(data, &file) || !unmarshal(file.Safe.Content.Bytes, &safe) || !unmarshal(safe, &parts) {
		return nil
	}
	for _, part := range parts {
		var plain []byte // as it is without encryption
		var sealed encryptedData
		var bags []safeBag
		if !unmarshal(part.Content.Bytes, &plain) && unmarshal(part.Content.Bytes, &sealed) {
			plain, _ = decrypt(&sealed.Info.Algorithm, sealed.Info.Data, password)
		}
		if !unmarshal(plain, &bags) {
			continue
		}
		for _, b := range bags {
			isMark := func(a pkcs12Attribute) bool { return a.Type.Equal(oidTrustedByJava) }
			var cert certBag
			if !b.Type.Equal(oidCertBag) || !slices.ContainsFunc(b.Attributes, isMark) ||
				!unmarshal(b.Value.Bytes, &cert) {
				continue
			}
			if x, err := x509.ParseCertificate(cert.Data); err == nil {
				trusted = append(trusted, x)
			}
		}
	}
	return trusted
}

// unmarshal reports whether der is a value and nothing else.
func unmarshal(der []byte, v any) bool {
	rest, err := asn1.Unmarshal(der, v)
	return err == nil && len(rest) == 0
}
