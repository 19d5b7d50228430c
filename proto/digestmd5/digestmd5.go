// Package digestmd5 is the mechanism DIGEST-MD5 of RFC 2831 as ZooKeeper uses it, between clients and servers and
// between servers: both sides of an exchange of tokens. Source: client-protocol 14, quorum-protocol 13.1.
//
// The server sends a challenge with a nonce, the client answers with a hash of its password, the nonce and one of its
// own, and the server proves with another hash that it knows the password, too. The tokens are:
//
//	client: empty
//	server: realm="zk-sasl-md5",nonce="<40 characters>",charset=utf-8,algorithm=md5-sess
//	client: charset=utf-8,username="u",realm="zk-sasl-md5",nonce="...",nc=00000001,cnonce="...",
//	        digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=<32 hex>,qop=auth
//	server: rspauth=<32 hex>
//
// The mechanism is old, and only as strong as the password: an eavesdropper can try passwords offline. Use it inside
// TLS.
//
// A Server and a Client are one exchange, owned by one goroutine. Errors never contain a token or a password. A token
// has a limit before it is looked at.
package digestmd5

import (
	"cmp"
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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
var ErrAuth = errors.New("digest-md5: authentication failed")

// Passwords returns the password of a user, and whether there is such a user.
type Passwords func(user string) (password string, known bool)

// Server is the server's side of one exchange.
type Server struct {
	realm Realm
	users Passwords
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

// fail ends an exchange and returns the error that says why.
func (s *exchangeState) fail(reason string) error {
	*s = exchangeFailed
	return fmt.Errorf("%w: %s", ErrAuth, reason)
}

// NewServer begins an exchange. The nonce is printable text, random for each exchange, that no client can predict.
func NewServer(realm Realm, users Passwords, nonce string) *Server {
	return &Server{realm: realm, users: users, nonce: nonce}
}

// Done reports whether the client has proved that it knows the password.
func (s *Server) Done() bool { return s.state == exchangeDone }

// User returns the name that the client has authenticated as; "" before Done.
func (s *Server) User() string {
	if !s.Done() {
		return ""
	}
	return s.user
}

// Step takes a token of the client and returns the answer. After an error, and after the exchange is done, every
// further token is an error.
func (s *Server) Step(token []byte) ([]byte, error) {
	switch s.state {
	case exchangeNew:
		if len(token) > 0 {
			return nil, s.state.fail("the first token is not empty")
		}
		s.state = exchangeChallenged
		b := append([]byte("realm="), appendQuoted(nil, s.realm.Server)...)
		b = appendQuoted(append(b, ",nonce="...), s.nonce)
		return append(b, ",charset=utf-8,algorithm=md5-sess"...), nil
	case exchangeChallenged:
		return s.check(token)
	case exchangeDone:
		return nil, s.state.fail("a token after the end of the exchange")
	}
	return nil, s.state.fail("a token after a failure")
}

// check checks the client's response.
func (s *Server) check(token []byte) ([]byte, error) {
	d, err := parseDirectives(token)
	if err != nil {
		s.state = exchangeFailed
		return nil, err
	}
	uri := d["digest-uri"]
	switch {
	case d["charset"] != "" && !strings.EqualFold(d["charset"], "utf-8"):
		return nil, s.state.fail("charset is not utf-8")
	case d["username"] == "":
		return nil, s.state.fail("username is missing")
	case d["realm"] != s.realm.Server:
		return nil, s.state.fail("realm is another")
	case d["nonce"] != s.nonce:
		return nil, s.state.fail("nonce is another")
	case d["nc"] != "00000001":
		return nil, s.state.fail("nc is not 1")
	case d["cnonce"] == "":
		return nil, s.state.fail("cnonce is missing")
	case d["qop"] != "" && d["qop"] != "auth":
		return nil, s.state.fail("qop is not auth")
	case !s.realm.matches(uri):
		return nil, s.state.fail("digest-uri is for another service")
	}
	user := d["username"]
	if d["charset"] == "" {
		user = fromLatin1(user)
	}
	if d["authzid"] != "" && d["authzid"] != user {
		return nil, s.state.fail("authzid is another user")
	}
	password, known := s.users(user)
	if !known {
		password = s.nonce // names that do not exist cost as much work
	}
	proof := &proofInputs{user: user, realm: s.realm.Server, password: password, nonce: s.nonce, cnonce: d["cnonce"],
		uri: uri, authzid: d["authzid"]}
	want := proof.response("AUTHENTICATE:")
	if subtle.ConstantTimeCompare([]byte(want), []byte(d["response"])) != 1 || !known {
		return nil, s.state.fail("wrong user or password")
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

// proofInputs holds the inputs of the hashes of one exchange. Source: RFC 2831 section 2.1.2.1.
type proofInputs struct {
	user, realm, password, nonce, cnonce, uri, authzid string
}

// response returns the hash that a side proves itself with: method is "AUTHENTICATE:" for the client and ":" for
// the server.
func (p *proofInputs) response(method string) string {
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

// Client is the client's side of one exchange.
type Client struct {
	realm          Realm
	user, password string
	proof          proofInputs
	state          exchangeState
	cnonce         string
}

// NewClient begins an exchange. The first token of the client is empty. The nonce is random text for each exchange,
// as for NewServer.
func NewClient(realm Realm, user, password, cnonce string) *Client {
	return &Client{realm: realm, user: user, password: password, cnonce: cnonce}
}

// Done reports whether the server has proved that it knows the password.
func (c *Client) Done() bool { return c.state == exchangeDone }

// Step takes a token of the server and returns the answer; after the last one there is none.
func (c *Client) Step(token []byte) ([]byte, error) {
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
			return nil, c.state.fail("the server does not know the password")
		}
		c.state = exchangeDone
		return nil, nil
	}
	return nil, c.state.fail("a token after the end of the exchange")
}

// answer makes the response to a challenge.
func (c *Client) answer(d directives) ([]byte, error) {
	switch {
	case d["nonce"] == "":
		return nil, c.state.fail("the challenge has no nonce")
	case !strings.EqualFold(d["algorithm"], "md5-sess"):
		return nil, c.state.fail("the challenge is not for md5-sess")
	case d["qop"] != "" && !hasWord(d["qop"], "auth"):
		return nil, c.state.fail("the challenge does not allow qop auth")
	}
	realm := cmp.Or(d["realm"], c.realm.Server)
	c.proof = proofInputs{user: c.user, realm: realm, password: c.password, nonce: d["nonce"], cnonce: c.cnonce,
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
	return slices.ContainsFunc(strings.Split(list, ","), func(w string) bool { return strings.TrimSpace(w) == word })
}
