package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal/vfs"
)

// fileBytesMax bounds one store. The certificates of all public authorities take a tenth of it.
const fileBytesMax = 4 << 20

// contents is everything in a store, before its use as key store or trust store is known.
type contents struct {
	chain   []*x509.Certificate // of key, leaf first
	key     crypto.Signer       // nil if there is none
	trusted []*x509.Certificate
	lists   []*x509.RevocationList
}

var (
	errNoKey        = errors.New("it has no private key")
	errNoChain      = errors.New("it has no certificate for its private key")
	errOtherKey     = errors.New("the private key is not the one of the first certificate")
	errNoTrusted    = errors.New("it has no trusted certificate")
	errUnknownStore = errors.New("it is neither PEM, PKCS12 nor JKS")
	errBCFKS        = errors.New("it looks like a store of another Java provider (BCFKS, JCEKS), which cannot be " +
		"read; use PEM, PKCS12 or JKS")
)

// The files of a folder that is a key store, and of one that is a trust store: those of a secret of Kubernetes.
var (
	identityFiles = []string{"tls.crt", "tls.key"}
	trustFiles    = []string{"ca.crt"}
)

// filesOf returns the files of a store, which are those of the folder if it is one.
func filesOf(s *config.Store, inFolder []string) []string {
	if !s.IsFolder() {
		return []string{s.Location}
	}
	names := make([]string, len(inFolder))
	for i, name := range inFolder {
		names[i] = s.Location + name
	}
	return names
}

// load reads a store. Errors name the file and never its contents.
func load(fsys vfs.FS, s *config.Store, inFolder []string) (*contents, error) {
	var data []byte
	for _, name := range filesOf(s, inFolder) {
		part, err := vfs.ReadFile(fsys, name, fileBytesMax)
		if err != nil {
			return nil, fmt.Errorf("keystore: %w", err)
		}
		data = append(append(data, part...), '\n')
	}
	if !s.IsFolder() {
		data = data[:len(data)-1] // only parts need a line end between them
	}
	password, err := passwordOf(fsys, s)
	if err != nil {
		return nil, err
	}
	c, err := decode(data, s.Format(), password)
	if err != nil {
		return nil, fmt.Errorf("keystore: %s: %w", s.Location, err)
	}
	return c, nil
}

// decode reads a store of the given format; the first bytes decide between the two binary formats.
func decode(data []byte, format, password string) (*contents, error) {
	if format == "PEM" {
		return decodePEM(data, password)
	}
	switch {
	case bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}):
		return decodeJKS(data, password)
	case bytes.HasPrefix(data, []byte{0xce, 0xce, 0xce, 0xce}):
		return nil, errBCFKS
	case len(data) > 0 && data[0] == 0x30:
		return decodePKCS12(data, password)
	case bytes.Contains(data, []byte("-----BEGIN ")):
		return decodePEM(data, password)
	}
	return nil, errUnknownStore
}

// loadIdentity reads a key store.
func loadIdentity(fsys vfs.FS, s *config.Store) (*tls.Certificate, error) {
	c, err := load(fsys, s, identityFiles)
	if err != nil {
		return nil, err
	}
	cert, err := c.identity()
	if err != nil {
		return nil, fmt.Errorf("keystore: %s: %w", s.Location, err)
	}
	return cert, nil
}

// identity returns the private key with its chain.
func (c *contents) identity() (*tls.Certificate, error) {
	switch {
	case c.key == nil:
		return nil, errNoKey
	case len(c.chain) == 0:
		return nil, errNoChain
	case !sameKey(c.chain[0].PublicKey, c.key.Public()):
		return nil, errOtherKey
	}
	cert := &tls.Certificate{PrivateKey: c.key, Leaf: c.chain[0]}
	for _, x := range c.chain {
		cert.Certificate = append(cert.Certificate, x.Raw)
	}
	return cert, nil
}

func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// loadTrust reads a trust store.
func loadTrust(fsys vfs.FS, s *config.Store) (*contents, error) {
	c, err := load(fsys, s, trustFiles)
	if err != nil {
		return nil, err
	}
	if len(c.trusted) == 0 {
		return nil, fmt.Errorf("keystore: %s: %w", s.Location, errNoTrusted)
	}
	return c, nil
}

// passwordOf returns the password of a store: the content of the file PasswordPath, without the line end, goes
// first.
func passwordOf(fsys vfs.FS, s *config.Store) (string, error) {
	if s.PasswordPath == "" {
		return string(s.Password), nil
	}
	data, err := vfs.ReadFile(fsys, s.PasswordPath, 64<<10)
	if err != nil {
		return "", fmt.Errorf("keystore: password of %s: %w", s.Location, err)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	return string(bytes.TrimSuffix(data, []byte("\r"))), nil
}
