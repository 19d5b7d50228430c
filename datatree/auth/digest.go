package auth

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"strings"
)

// digestHashes maps Java's names of hashes, in upper case, to the hashes of digest ids.
var digestHashes = map[string]func() hash.Hash{
	"MD5": md5.New,
	"SHA": sha1.New, "SHA1": sha1.New, "SHA-1": sha1.New,
	"SHA-224": sha256.New224, "SHA224": sha256.New224,
	"SHA-256": sha256.New, "SHA256": sha256.New,
	"SHA-384": sha512.New384, "SHA384": sha512.New384,
	"SHA-512": sha512.New, "SHA512": sha512.New,
	"SHA-512/224": sha512.New512_224, "SHA512/224": sha512.New512_224,
	"SHA-512/256": sha512.New512_256, "SHA512/256": sha512.New512_256,
	"SHA3-224": func() hash.Hash { return sha3.New224() },
	"SHA3-256": func() hash.Hash { return sha3.New256() },
	"SHA3-384": func() hash.Hash { return sha3.New384() },
	"SHA3-512": func() hash.Hash { return sha3.New512() },
}

// defaultDigest is the algorithm of a server without DigestAuthenticationProvider.digestAlg.
const defaultDigest = "SHA1"

// DigestID returns the id of scheme digest for credentials as a client sends them, user:password: the user, a colon
// and the hash of the whole by the algorithm of that name, one of DigestAuthenticationProvider.digestAlg. The user
// is the part before the first colon, all of it if there is none. ok is false for an unknown algorithm. Source:
// client-protocol 10.6.
func DigestID(algorithm string, credentials []byte) (id string, ok bool) {
	newHash, ok := digestHashes[strings.ToUpper(algorithm)]
	if !ok {
		return "", false
	}
	h := newHash()
	h.Write(credentials)
	user, _, _ := strings.Cut(string(credentials), ":")
	return user + ":" + base64.StdEncoding.EncodeToString(h.Sum(nil)), true
}

// DigestIdentity returns the identity of scheme digest for credentials as a client sends them, hashed by the
// default algorithm.
func DigestIdentity(credentials string) Identity {
	id, _ := DigestID(defaultDigest, []byte(credentials))
	return Identity{Scheme: SchemeDigest, ID: id}
}

// NewDigestIdentity is DigestIdentity for a user and a password.
func NewDigestIdentity(user, password string) Identity { return DigestIdentity(user + ":" + password) }
