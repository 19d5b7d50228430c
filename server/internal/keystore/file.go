package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"

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

// use is what a store is for.
type use struct {
	settings string   // the prefix of those that name it
	inFolder []string // its files if it is a folder: those of a secret of Kubernetes
}

var (
	forIdentity = use{"keyStore.", []string{"tls.crt", "tls.key"}}
	forTrust    = use{"trustStore.", []string{"ca.crt"}}
)

// files returns the files of a store, which are those of the folder if it is one.
func (u *use) files(s *config.Store) []string {
	if !s.IsFolder() {
		return []string{s.Location}
	}
	names := make([]string, len(u.inFolder))
	for i, name := range u.inFolder {
		names[i] = s.Location + name
	}
	return names
}

// storeError is returned by Open for a store, or another setting, that cannot be used.
type storeError struct {
	// Setting is what names the store or its password, without the prefix of its context: keyStore.location. It may
	// also be one about protocols or ciphers.
	Setting string
	// File is the store, or the file with its password; empty for other settings.
	File string
	// Err is what is wrong with it.
	Err error
}

// Error names the file and what is wrong with it, never its contents or password.
func (e *storeError) Error() string {
	var path *fs.PathError
	if errors.As(e.Err, &path) || e.File == "" { // it names the file
		return "keystore: " + e.Err.Error()
	}
	return "keystore: " + e.File + ": " + e.Err.Error()
}

func (e *storeError) Unwrap() error { return e.Err }

// Located returns an error of Open as one of the setting of c that names the store, with its place. prefix is that of
// the settings with which Open was called, such as "ssl.". Other errors, and those of settings that were not made, are
// returned as they are.
func Located(err error, c *config.Config, prefix string) error {
	var at *storeError
	if !errors.As(err, &at) || !c.Given(prefix+at.Setting) {
		return err
	}
	return c.About(at.Err, prefix+at.Setting)
}

// wrong returns what is wrong with a store as an error, nil for nothing.
func (u *use) wrong(s *config.Store, err error) error {
	if err == nil {
		return nil
	}
	return &storeError{Setting: u.settings + "location", File: s.Location, Err: err}
}

// load reads a store. Errors name the file and never its contents.
func (u *use) load(fsys vfs.FS, s *config.Store) (*contents, error) {
	var data []byte
	for _, name := range u.files(s) {
		part, err := vfs.ReadFile(fsys, name, fileBytesMax)
		if err != nil {
			return nil, u.wrong(s, err)
		}
		data = append(append(data, part...), '\n')
	}
	if !s.IsFolder() {
		data = data[:len(data)-1] // only parts need a line end between them
	}
	password, err := passwordOf(fsys, s)
	if err != nil {
		return nil, &storeError{Setting: u.settings + "passwordPath", File: s.PasswordPath, Err: err}
	}
	c, err := decode(data, s.Format(), password)
	return c, u.wrong(s, err)
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
	c, err := forIdentity.load(fsys, s)
	if err != nil {
		return nil, err
	}
	cert, err := c.identity()
	return cert, forIdentity.wrong(s, err)
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

func loadTrust(fsys vfs.FS, s *config.Store) (*contents, error) {
	c, err := forTrust.load(fsys, s)
	if err != nil {
		return nil, err
	}
	if len(c.trusted) == 0 {
		return nil, forTrust.wrong(s, errNoTrusted)
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
		return "", err
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	return string(bytes.TrimSuffix(data, []byte("\r"))), nil
}
