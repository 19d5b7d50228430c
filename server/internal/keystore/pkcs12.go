package keystore

import (
	"crypto"
	"crypto/x509"
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
		c := &contents{key: signer, trusted: []*x509.Certificate{leaf}} // as Java does if the file is a trust store
		c.chain = append(append(c.chain, leaf), rest...)
		// The library takes the first certificate for that of the key. A trusted one may come before it.
		isLeaf := func(x *x509.Certificate) bool { return sameKey(x.PublicKey, signer.Public()) }
		if i := slices.IndexFunc(c.chain, isLeaf); i > 0 {
			leaf = c.chain[i]
			c.chain = slices.Insert(slices.Delete(c.chain, i, i+1), 0, leaf)
			c.trusted = append(c.trusted, leaf)
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
