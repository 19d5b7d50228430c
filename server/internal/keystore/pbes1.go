package keystore

import (
	"bytes"
	"crypto/cipher"
	"crypto/des"
	"crypto/md5"
	"crypto/sha1"
	"crypto/x509/pkix"
	"fmt"
	"hash"
)

// Keys that are encrypted in the older ways are opened, because ZooKeeper on Java 17 opens no others: under PBES1, or
// as PKCS12 encrypts. The ciphers RC2 and RC4 are not among them. Source: RFC 8018 sections 5.1 and 6.1, RFC 7292
// appendices B and C.

type pbeParams struct {
	Salt       []byte
	Iterations int
}

// pbeScheme is how a key and an initialization vector are derived, and of which cipher.
type pbeScheme struct {
	derive func(password string, p *pbeParams, keySize, ivSize int) (key, iv []byte, err error)
	block  func(key []byte) (cipher.Block, error)
	size   int // of the key
}

// pbeSchemes are by object identifier.
var pbeSchemes = map[string]pbeScheme{
	"1.2.840.113549.1.5.3":    {pbkdf1(md5.New), des.NewCipher, 8},
	"1.2.840.113549.1.5.10":   {pbkdf1(sha1.New), des.NewCipher, 8},
	"1.2.840.113549.1.12.1.3": {pkcs12KDF, des.NewTripleDESCipher, 24},
	"1.2.840.113549.1.12.1.4": {pkcs12KDF, newTwoKeyTripleDES, 16},
}

// decrypter returns the decrypter that the parameters of an algorithm and a password make.
func (s *pbeScheme) decrypter(algorithm *pkix.AlgorithmIdentifier, password string) (cipher.BlockMode, error) {
	var p pbeParams
	if !unmarshal(algorithm.Parameters.FullBytes, &p) {
		return nil, errPKCS8
	}
	if err := checkIterations(p.Iterations); err != nil {
		return nil, err
	}
	key, iv, err := s.derive(password, &p, s.size, des.BlockSize)
	if err != nil {
		return nil, err
	}
	block, err := s.block(key)
	if err != nil {
		return nil, errPKCS8
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func newTwoKeyTripleDES(key []byte) (cipher.Block, error) {
	return des.NewTripleDESCipher(append(bytes.Clone(key), key[:8]...))
}

// pbkdf1 returns PBKDF1, whose salt has 8 bytes and whose result is shorter than a hash.
func pbkdf1(newHash func() hash.Hash) func(string, *pbeParams, int, int) (key, iv []byte, err error) {
	return func(password string, p *pbeParams, keySize, ivSize int) (key, iv []byte, err error) {
		h := newHash()
		if len(p.Salt) != 8 || keySize+ivSize > h.Size() {
			return nil, nil, errPKCS8
		}
		sum := hashed(h, []byte(password), p.Salt, p.Iterations)
		return sum[:keySize], sum[keySize : keySize+ivSize], nil
	}
}

// hashed hashes the two parts, and then n-1 times the result.
func hashed(h hash.Hash, a, b []byte, n int) []byte {
	h.Write(a)
	h.Write(b)
	sum := h.Sum(nil)
	for range n - 1 {
		h.Reset()
		h.Write(sum)
		sum = h.Sum(sum[:0])
	}
	return sum
}

// pkcs12KDF derives as PKCS12 does, with SHA-1: the password in UTF-16, with a zero at its end.
func pkcs12KDF(password string, p *pbeParams, keySize, ivSize int) (key, iv []byte, err error) {
	wide := append(utf16Bytes(password), 0, 0)
	const keyUse, ivUse = 1, 2
	return pkcs12Bytes(wide, p, keyUse, keySize), pkcs12Bytes(wide, p, ivUse, ivSize), nil
}

func pkcs12Bytes(password []byte, p *pbeParams, use byte, size int) []byte {
	const v = sha1.BlockSize
	diversifier := bytes.Repeat([]byte{use}, v)
	input := append(filled(p.Salt, v), filled(password, v)...)
	var out []byte
	for {
		sum := hashed(sha1.New(), diversifier, input, p.Iterations)
		if out = append(out, sum...); len(out) >= size {
			return out[:size]
		}
		add := filled(sum, v)[:v]
		for block := input; len(block) > 0; block = block[v:] {
			carry := 1
			for i := v - 1; i >= 0; i-- {
				carry += int(block[i]) + int(add[i])
				block[i] = byte(carry)
				carry >>= 8
			}
		}
	}
}

// filled repeats b until the length is the next multiple of v.
func filled(b []byte, v int) []byte {
	if len(b) == 0 {
		return nil
	}
	size := (len(b) + v - 1) / v * v
	return bytes.Repeat(b, size/len(b)+1)[:size]
}

func checkIterations(n int) error {
	if n < 1 || n > iterationsMax {
		return fmt.Errorf("the private key asks for %d iterations, the limit is %d", n, iterationsMax)
	}
	return nil
}
