package sasl

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// Realm names the server side of an exchange: the service and the name of the server, which is also the realm.
type Realm struct{ Service, Server string }

// The realms of ZooKeeper: of clients, and of servers among themselves.
var (
	ClientRealm = Realm{"zookeeper", "zk-sasl-md5"}
	QuorumRealm = Realm{"zookeeper-quorum", "zk-quorum-sasl-md5"}
)

// ErrAuth is returned when the other side has not proved that it knows the password. The reason is for the log.
var ErrAuth = errors.New("sasl: authentication failed")

type authError struct{ reason string }

func (e *authError) Error() string        { return ErrAuth.Error() + ": " + e.reason }
func (e *authError) Is(target error) bool { return target == ErrAuth }

// DigestServer is the server's side of one exchange.
type DigestServer struct {
	realm Realm
	users *Users
	nonce string
	user  string
	state exchangeState
}

type exchangeState uint8

const (
	exchangeNew exchangeState = iota
	exchangeChallenged
	exchangeDone
	exchangeFailed
)

// NewDigestServer begins an exchange.
func NewDigestServer(realm Realm, users *Users) *DigestServer {
	return &DigestServer{realm: realm, users: users, nonce: newNonce()}
}

// newNonce returns 30 random bytes in 40 characters, as Java does.
func newNonce() string {
	var b [30]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.StdEncoding.EncodeToString(b[:])
}

// Done reports whether the client has proved that it knows the password.
func (s *DigestServer) Done() bool { return s.state == exchangeDone }

// User returns the name that the client has authenticated as; "" before Done.
func (s *DigestServer) User() string {
	if !s.Done() {
		return ""
	}
	return s.user
}

// Step takes a token of the client and returns the answer. After an error, and after the exchange is done, every
// further token is an error.
func (s *DigestServer) Step(token []byte) ([]byte, error) {
	switch s.state {
	case exchangeNew:
		if len(token) > 0 {
			return nil, s.fail("the first token is not empty")
		}
		s.state = exchangeChallenged
		b := append([]byte("realm="), appendQuoted(nil, s.realm.Server)...)
		b = appendQuoted(append(b, ",nonce="...), s.nonce)
		return append(b, ",charset=utf-8,algorithm=md5-sess"...), nil
	case exchangeChallenged:
		return s.check(token)
	case exchangeDone:
		return nil, s.fail("a token after the end of the exchange")
	}
	return nil, s.fail("a token after a failure")
}

func (s *DigestServer) fail(reason string) error {
	s.state = exchangeFailed
	return &authError{reason}
}

// check checks the client's response.
func (s *DigestServer) check(token []byte) ([]byte, error) {
	d, err := parseDirectives(token)
	if err != nil {
		s.state = exchangeFailed
		return nil, err
	}
	uri := d["digest-uri"]
	switch {
	case d["charset"] != "" && !strings.EqualFold(d["charset"], "utf-8"):
		return nil, s.fail("charset is not utf-8")
	case d["username"] == "":
		return nil, s.fail("username is missing")
	case d["realm"] != s.realm.Server:
		return nil, s.fail("realm is another")
	case d["nonce"] != s.nonce:
		return nil, s.fail("nonce is another")
	case d["nc"] != "00000001":
		return nil, s.fail("nc is not 1")
	case d["cnonce"] == "":
		return nil, s.fail("cnonce is missing")
	case d["qop"] != "" && d["qop"] != "auth":
		return nil, s.fail("qop is not auth")
	case !s.realm.matches(uri):
		return nil, s.fail("digest-uri is for another service")
	}
	user := d["username"]
	if d["charset"] == "" {
		user = fromLatin1(user)
	}
	if d["authzid"] != "" && d["authzid"] != user {
		return nil, s.fail("authzid is another user")
	}
	password, known := s.users.password(user)
	if !known {
		password = s.nonce // names that do not exist cost as much work
	}
	proof := &digestProof{user: user, realm: s.realm.Server, password: password, nonce: s.nonce, cnonce: d["cnonce"],
		uri: uri, authzid: d["authzid"]}
	want := proof.response("AUTHENTICATE:")
	if subtle.ConstantTimeCompare([]byte(want), []byte(d["response"])) != 1 || !known {
		return nil, s.fail("wrong user or password")
	}
	s.user, s.state = user, exchangeDone
	return []byte("rspauth=" + proof.response(":")), nil
}

// matches accepts service/server and service/server/more.
func (r Realm) matches(uri string) bool {
	service, host, ok := strings.Cut(uri, "/")
	host, _, _ = strings.Cut(host, "/")
	return ok && strings.EqualFold(service, r.Service) && strings.EqualFold(host, r.Server)
}

// digestProof holds the inputs of the hashes of one exchange. Source: RFC 2831 section 2.1.2.1.
type digestProof struct {
	user, realm, password, nonce, cnonce, uri, authzid string
}

// response returns the hash that a side proves itself with: method is "AUTHENTICATE:" for the client and ":" for
// the server.
func (p *digestProof) response(method string) string {
	secret := md5.Sum([]byte(toLatin1(p.user) + ":" + toLatin1(p.realm) + ":" + toLatin1(p.password)))
	a1 := string(secret[:]) + ":" + p.nonce + ":" + p.cnonce
	if p.authzid != "" {
		a1 += ":" + p.authzid
	}
	return hexMD5(hexMD5(a1) + ":" + p.nonce + ":00000001:" + p.cnonce + ":auth:" + hexMD5(method+p.uri))
}

// toLatin1 returns a string as it is hashed: in ISO 8859-1 if all of it is in that set, else in UTF-8.
func toLatin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b = append(b, byte(r))
	}
	return string(b)
}

// fromLatin1 is the reverse, for a peer that has not sent charset=utf-8.
func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// DigestClient is the client's side of one exchange.
type DigestClient struct {
	realm          Realm
	user, password string
	proof          digestProof
	state          exchangeState
	cnonce         func() string
}

// NewDigestClient begins an exchange. The first token of the client is empty.
func NewDigestClient(realm Realm, user, password string) *DigestClient {
	return &DigestClient{realm: realm, user: user, password: password, cnonce: newNonce}
}

// Done reports whether the server has proved that it knows the password.
func (c *DigestClient) Done() bool { return c.state == exchangeDone }

// Step takes a token of the server and returns the answer; after the last one there is none.
func (c *DigestClient) Step(token []byte) ([]byte, error) {
	d, err := parseDirectives(token)
	if err != nil {
		c.state = exchangeFailed
		return nil, err
	}
	switch c.state {
	case exchangeNew:
		return c.answer(d)
	case exchangeChallenged:
		if subtle.ConstantTimeCompare([]byte(c.proof.response(":")), []byte(d["rspauth"])) != 1 {
			c.state = exchangeFailed
			return nil, &authError{"the server does not know the password"}
		}
		c.state = exchangeDone
		return nil, nil
	}
	c.state = exchangeFailed
	return nil, &authError{"a token after the end of the exchange"}
}

// answer makes the response to a challenge.
func (c *DigestClient) answer(d directives) ([]byte, error) {
	switch {
	case d["nonce"] == "":
		c.state = exchangeFailed
		return nil, &authError{"the challenge has no nonce"}
	case !strings.EqualFold(d["algorithm"], "md5-sess"):
		c.state = exchangeFailed
		return nil, &authError{"the challenge is not for md5-sess"}
	case d["qop"] != "" && !hasWord(d["qop"], "auth"):
		c.state = exchangeFailed
		return nil, &authError{"the challenge does not allow qop auth"}
	}
	realm := d["realm"]
	if realm == "" {
		realm = c.realm.Server
	}
	c.proof = digestProof{user: c.user, realm: realm, password: c.password, nonce: d["nonce"], cnonce: c.cnonce(),
		uri: c.realm.Service + "/" + c.realm.Server}
	c.state = exchangeChallenged
	b := appendQuoted([]byte("charset=utf-8,username="), c.user)
	b = appendQuoted(append(b, ",realm="...), realm)
	b = appendQuoted(append(b, ",nonce="...), c.proof.nonce)
	b = appendQuoted(append(b, ",nc=00000001,cnonce="...), c.proof.cnonce)
	b = appendQuoted(append(b, ",digest-uri="...), c.proof.uri)
	b = append(b, ",maxbuf=65536,response="...)
	b = append(b, c.proof.response("AUTHENTICATE:")...)
	return append(b, ",qop=auth"...), nil
}

// hasWord looks for a word in a list with commas.
func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}
