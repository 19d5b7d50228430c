package keystore

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

var (
	errTwoKeys = errors.New("it has more than one private key")
	errKeyKind = errors.New("its private key is of a kind that TLS does not use")
	errOldKey  = errors.New("its private key is encrypted in the old way of OpenSSL (Proc-Type); convert it to " +
		"PKCS#8 with openssl pkcs8 -topk8")
	errNoPassword = errors.New("its private key is encrypted and no password is set")
	errTorn       = errors.New("it is incomplete: perhaps the file is being written")
)

// beginning is how each block begins.
var beginning = []byte("-----BEGIN ")

// decodePEM reads blocks of certificates, one private key and revocation lists. Text between and around them, and
// blocks of other kinds, are ignored. Every certificate is both a part of the chain and trusted: the store's use
// decides. A block that is incomplete is refused: without it, others would be trusted than are meant.
func decodePEM(data []byte, password string) (*contents, error) {
	c := &contents{}
	for n := 1; ; n++ {
		block, rest := pem.Decode(data)
		if read := data[:len(data)-len(rest)]; bytes.Count(read, beginning) > 1 || block == nil &&
			bytes.Contains(data, beginning) {
			return nil, fmt.Errorf("block %d: %w", n, errTorn)
		}
		if block == nil {
			break
		}
		if err := c.addBlock(block, password); err != nil {
			return nil, fmt.Errorf("block %d (%s): %w", n, block.Type, err)
		}
		data = rest
	}
	if len(c.chain) == 0 && c.key == nil && len(c.lists) == 0 {
		return nil, errors.New("it has no PEM block that is a certificate or a private key")
	}
	c.trusted = c.chain
	return c, nil
}

func (c *contents) addBlock(block *pem.Block, password string) error {
	switch block.Type {
	case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
		x, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		c.chain = append(c.chain, x)
	case "X509 CRL":
		l, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return err
		}
		c.lists = append(c.lists, l)
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
		if c.key != nil {
			return errTwoKeys
		}
		if block.Headers["Proc-Type"] != "" {
			return errOldKey
		}
		key, err := parseBlockKey(block, password)
		c.key = key
		return err
	}
	return nil
}

func parseBlockKey(block *pem.Block, password string) (crypto.Signer, error) {
	der := block.Bytes
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		if password == "" {
			return nil, errNoPassword
		}
		var err error
		if der, err = decryptPKCS8(der, password); err != nil {
			return nil, err
		}
	}
	return parseKey(der)
}

// parseKey reads a private key in any of its three encodings. The parser's error could quote the key, so it is
// not passed on.
func parseKey(der []byte) (crypto.Signer, error) {
	var key any
	var err error
	if key, err = x509.ParsePKCS8PrivateKey(der); err != nil {
		if key, err = x509.ParsePKCS1PrivateKey(der); err != nil {
			if key, err = x509.ParseECPrivateKey(der); err != nil {
				return nil, errors.New("the private key cannot be decoded")
			}
		}
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errKeyKind
	}
	return signer, nil
}
