package keystore

import (
	"bytes"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// A JKS file is, big-endian:
//
//	4 bytes   feedfeed
//	4 bytes   version, 1 or 2
//	4 bytes   number of entries, each:
//	          4 bytes tag (1 a key, 2 a trusted certificate), alias (2-byte length), 8 bytes time;
//	          a key: 4-byte length, the protected key, 4 bytes number of certificates, each as below;
//	          a trusted certificate: its type (2-byte length, version 2 only), 4-byte length, DER
//	20 bytes  SHA-1 of the password in UTF-16, "Mighty Aphrodite" and everything before
//
// A protected key is an EncryptedPrivateKeyInfo of Sun's own algorithm: a salt of 20 bytes, the key XORed with a
// chain of SHA-1 of password and the hash before, beginning with the salt, and SHA-1 of password and key. As in
// ZooKeeper, the key has the password of the store.
const (
	jksHeader  = 12
	jksKey     = 1
	jksTrusted = 2
)

// jksWhitener is a part of the integrity hash.
const jksWhitener = "Mighty Aphrodite"

// oidJKSKey is the algorithm of protected keys.
var oidJKSKey = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}

var (
	errJKSShort    = errors.New("the JKS file is cut off or malformed")
	errJKSPassword = errors.New("the JKS file cannot be opened: wrong password, or it was changed")
	errJKSKey      = errors.New("the private key of the JKS file cannot be opened: its password must be the store's")
	errJKSAlgo     = errors.New("the private key of the JKS file is protected by another algorithm than Sun's")
)

// jksReader reads the rest of a file. After the first short read everything is empty and failed is true.
type jksReader struct {
	rest    []byte
	version uint32
	failed  bool
}

func (r *jksReader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *jksReader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *jksReader) short() []byte {
	if b := r.take(2); b != nil {
		return r.take(uint64(binary.BigEndian.Uint16(b)))
	}
	return nil
}

func (r *jksReader) long() []byte { return r.take(uint64(r.uint32())) }

func (r *jksReader) certificate() (*x509.Certificate, error) {
	if r.version == 2 {
		if kind := r.short(); !r.failed && string(kind) != "X.509" {
			return nil, fmt.Errorf("a certificate of the JKS file is of type %q", kind)
		}
	}
	der := r.long()
	if r.failed {
		return nil, errJKSShort
	}
	return x509.ParseCertificate(der)
}

// decodeJKS reads the first key, by place in the file, and every trusted certificate.
func decodeJKS(data []byte, password string) (*contents, error) {
	if len(data) < jksHeader+sha1.Size {
		return nil, errJKSShort
	}
	secret := utf16Bytes(password)
	body, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	h := sha1.New()
	h.Write(secret)
	h.Write([]byte(jksWhitener))
	h.Write(body)
	if subtle.ConstantTimeCompare(h.Sum(nil), sum) != 1 {
		return nil, errJKSPassword
	}
	r := &jksReader{rest: body[4:]}
	if r.version = r.uint32(); r.version != 1 && r.version != 2 {
		return nil, fmt.Errorf("the JKS file has version %d", r.version)
	}
	c := &contents{}
	for range r.uint32() {
		if err := c.addJKSEntry(r, secret); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *contents) addJKSEntry(r *jksReader, secret []byte) error {
	tag := r.uint32()
	r.short() // alias
	r.take(8) // time
	switch {
	case r.failed:
		return errJKSShort
	case tag == jksTrusted:
		x, err := r.certificate()
		c.trusted = append(c.trusted, x)
		return err
	case tag != jksKey:
		return fmt.Errorf("the JKS file has an entry with tag %d", tag)
	}
	protected, first := r.long(), c.key == nil
	for i := range r.uint32() {
		x, err := r.certificate()
		if err != nil {
			return err
		}
		if i == 0 {
			c.trusted = append(c.trusted, x) // as Java does if the file is a trust store
		}
		if first {
			c.chain = append(c.chain, x)
		}
	}
	if r.failed || !first {
		return r.err()
	}
	der, err := openJKSKey(protected, secret)
	if err != nil {
		return err
	}
	c.key, err = parseKey(der)
	return err
}

func (r *jksReader) err() error {
	if r.failed {
		return errJKSShort
	}
	return nil
}

// openJKSKey returns the PKCS#8 key in protected.
func openJKSKey(protected, secret []byte) ([]byte, error) {
	var ek encryptedKey
	if !unmarshal(protected, &ek) {
		return nil, errJKSKey
	}
	if !ek.Algorithm.Algorithm.Equal(oidJKSKey) {
		return nil, errJKSAlgo
	}
	if len(ek.Data) < 2*sha1.Size {
		return nil, errJKSKey
	}
	hash, plain, check := ek.Data[:sha1.Size], bytes.Clone(ek.Data[sha1.Size:len(ek.Data)-sha1.Size]),
		ek.Data[len(ek.Data)-sha1.Size:]
	for i := range plain {
		if i%sha1.Size == 0 {
			sum := sha1.Sum(append(secret[:len(secret):len(secret)], hash...))
			hash = sum[:]
		}
		plain[i] ^= hash[i%sha1.Size]
	}
	sum := sha1.Sum(append(secret[:len(secret):len(secret)], plain...))
	if subtle.ConstantTimeCompare(sum[:], check) != 1 {
		return nil, errJKSKey
	}
	return plain, nil
}

// utf16Bytes returns a password as Java hashes it.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	return b
}
