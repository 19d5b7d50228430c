package server

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"strings"

	"github.com/seed94657493/warren/datatree"
)

// digestHashes is the hashes of digest ids by Java's names, upper case.
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

// DigestID returns the id of scheme digest for credentials as a client sends them, user:password: the user, and the hash of all of
// it by the algorithm of that name, one of DigestAuthenticationProvider.digestAlg. It reports false for an unknown name. Source:
// client-protocol section 10.6.
func DigestID(algorithm string, credentials []byte) (string, bool) {
	newHash, ok := digestHashes[strings.ToUpper(algorithm)]
	if !ok {
		return "", false
	}
	h := newHash()
	h.Write(credentials)
	user, _, _ := strings.Cut(string(credentials), ":")
	return user + ":" + base64.StdEncoding.EncodeToString(h.Sum(nil)), true
}

// digestIdentity returns the identity of scheme digest for credentials.
func digestIdentity(algorithm string, credentials []byte) (datatree.Identity, bool) {
	id, ok := DigestID(algorithm, credentials)
	return datatree.Identity{Scheme: datatree.SchemeDigest, ID: id}, ok
}
