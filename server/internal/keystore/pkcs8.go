package keystore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

// An encrypted PKCS#8 key is a key of PKCS#8 under PBES2, a key derived from the password by PBKDF2, and a block
// cipher in CBC mode, or under one of the older schemes. Source: RFC 5958 section 3, RFC 8018 sections 6.2 and A.2,
// A.4.

type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	KDF    pkix.AlgorithmIdentifier
	Cipher pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// prfs are the pseudo-random functions of PBKDF2 by object identifier.
var prfs = map[string]func() hash.Hash{
	"1.2.840.113549.2.7":  sha1.New, // also the default
	"1.2.840.113549.2.8":  sha256.New224,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// cbc are the ciphers by object identifier.
var cbc = map[string]struct {
	keySize int
	block   func([]byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
}

// iterationsMax bounds the work that a file can demand: about a second.
const iterationsMax = 2_000_000

var (
	errPBE = errors.New("the private key is encrypted in a way that is not supported, such as RC2, RC4 or scrypt; " +
		"convert it with openssl pkcs8 -topk8 -v2 aes-256-cbc")
	errPKCS8     = errors.New("the encrypted private key cannot be decoded")
	errDecrypted = errors.New("the private key cannot be decrypted: wrong password?")
)

// decryptPKCS8 returns the PKCS#8 key inside der.
func decryptPKCS8(der []byte, password string) ([]byte, error) {
	var ek encryptedKey
	if !unmarshal(der, &ek) {
		return nil, errPKCS8
	}
	return decrypt(&ek.Algorithm, ek.Data, password)
}

func decrypt(algorithm *pkix.AlgorithmIdentifier, data []byte, password string) ([]byte, error) {
	mode, err := decrypter(algorithm, password)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%mode.BlockSize() != 0 {
		return nil, errPKCS8
	}
	plain := make([]byte, len(data))
	mode.CryptBlocks(plain, data)
	return unpad(plain, mode.BlockSize())
}

func decrypter(algorithm *pkix.AlgorithmIdentifier, password string) (cipher.BlockMode, error) {
	if s, ok := pbeSchemes[algorithm.Algorithm.String()]; ok {
		return s.decrypter(algorithm, password)
	}
	if !algorithm.Algorithm.Equal(oidPBES2) {
		return nil, errPBE
	}
	var p pbes2Params
	if !unmarshal(algorithm.Parameters.FullBytes, &p) {
		return nil, errPKCS8
	}
	c, ok := cbc[p.Cipher.Algorithm.String()]
	if !ok {
		return nil, fmt.Errorf("the cipher %v of the private key is not supported", p.Cipher.Algorithm)
	}
	key, err := deriveKey(&p.KDF, password, c.keySize)
	if err != nil {
		return nil, err
	}
	var iv []byte
	if !unmarshal(p.Cipher.Parameters.FullBytes, &iv) {
		return nil, errPKCS8
	}
	block, err := c.block(key)
	if err != nil || len(iv) != block.BlockSize() {
		return nil, errPKCS8
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func deriveKey(kdf *pkix.AlgorithmIdentifier, password string, size int) ([]byte, error) {
	if !kdf.Algorithm.Equal(oidPBKDF2) {
		return nil, errPBE
	}
	var p pbkdf2Params
	if !unmarshal(kdf.Parameters.FullBytes, &p) {
		return nil, errPKCS8
	}
	prf := sha1.New
	if len(p.PRF.Algorithm) > 0 {
		var ok bool
		if prf, ok = prfs[p.PRF.Algorithm.String()]; !ok {
			return nil, fmt.Errorf("the function %v of the private key's PBKDF2 is not supported", p.PRF.Algorithm)
		}
	}
	if err := checkIterations(p.Iterations); err != nil {
		return nil, err
	}
	if p.KeyLength != 0 && p.KeyLength != size {
		return nil, errPKCS8
	}
	return pbkdf2.Key(prf, password, p.Salt, p.Iterations, size)
}

// unpad removes the padding of RFC 8018 section 6.1.1; wrong padding means a wrong password.
func unpad(b []byte, blockSize int) ([]byte, error) {
	n := int(b[len(b)-1])
	if n == 0 || n > blockSize || !bytes.Equal(b[len(b)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, errDecrypted
	}
	return b[:len(b)-n], nil
}
