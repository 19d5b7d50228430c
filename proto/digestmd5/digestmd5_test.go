package digestmd5

import (
	"strings"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// The nonces and hashes of an exchange that ZooKeeper 3.8 has accepted.
const (
	vectorNonce    = "xY0JK+LWOCa7Z/F6jPF4yOocCYg72asBt7q3WyTn"
	vectorCnonce   = "OA6MG9tEQGm2hh"
	vectorResponse = "012aef8213e214786fd066c5923ccfb9"
	vectorRspauth  = "da86919f214d86dd35224ea179331f9f"
)

var passwords = map[string]string{"bob": "bobsecret", "jürgen": "pässword", "日本": "秘密", "": "empty"}

func bob(user string) (string, bool) {
	password, known := passwords[user]
	return password, known
}

func vectorServer() *Server {
	return NewServer(ClientRealm, bob, vectorNonce)
}

// vectorToken is the client's token of the exchange, with parts replaced.
func vectorToken(oldNew ...string) []byte {
	text := `charset=utf-8,username="bob",realm="zk-sasl-md5",nonce="` + vectorNonce + `",nc=00000001,cnonce="` +
		vectorCnonce + `",digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=` + vectorResponse + `,qop=auth`
	return []byte(strings.NewReplacer(oldNew...).Replace(text))
}

func TestGoldenExchange(t *testing.T) {
	s := vectorServer()
	challenge, err := s.Step(nil)
	require.NoError(t, err)
	require.Equal(t, `realm="zk-sasl-md5",nonce="`+vectorNonce+`",charset=utf-8,algorithm=md5-sess`, string(challenge))
	require.False(t, s.Done())
	require.Empty(t, s.User())

	c := NewClient(ClientRealm, "bob", "bobsecret", vectorCnonce)
	response, err := c.Step(challenge)
	require.NoError(t, err)
	require.Equal(t, string(vectorToken()), string(response))

	final, err := s.Step(response)
	require.NoError(t, err)
	require.Equal(t, "rspauth="+vectorRspauth, string(final))
	require.True(t, s.Done())
	require.Equal(t, "bob", s.User())

	last, err := c.Step(final)
	require.NoError(t, err)
	require.True(t, last == nil)
	require.True(t, c.Done())
}

// The example of RFC 2831, section 4.
func TestExampleOfTheRFC(t *testing.T) {
	p := proofInputs{user: "chris", realm: "elwood.innosoft.com", password: "secret", nonce: "OA6MG9tEQGm2hh",
		cnonce: "OA6MHXh6VqTrRk", uri: "imap/elwood.innosoft.com"}
	require.Equal(t, "d388dad90d4bbd760a152321f2143af7", p.response("AUTHENTICATE:"))
	require.Equal(t, "ea40f60335c427b5527b84dbabcdfffd", p.response(":"))
}

func TestServerRefuses(t *testing.T) {
	for name, token := range map[string][]byte{
		"wrong hash":       vectorToken(vectorResponse, strings.Repeat("0", 32)),
		"upper case hash":  vectorToken(vectorResponse, strings.ToUpper(vectorResponse)),
		"no hash":          vectorToken("response="+vectorResponse, "response=x"),
		"unknown user":     vectorToken("bob", "eve"),
		"user of no name":  vectorToken("bob", ""),
		"no user":          vectorToken(`username="bob",`, ""),
		"other realm":      vectorToken(`realm="zk-sasl-md5"`, `realm="other"`),
		"no realm":         vectorToken(`realm="zk-sasl-md5",`, ""),
		"other nonce":      vectorToken(vectorNonce, "y"+vectorNonce[1:]),
		"second use":       vectorToken("nc=00000001", "nc=00000002"),
		"no cnonce":        vectorToken(vectorCnonce, ""),
		"integrity":        vectorToken("qop=auth", "qop=auth-int"),
		"other service":    vectorToken("zookeeper/", "zookeeper-quorum/"),
		"other server":     vectorToken("/zk-sasl-md5", "/zk-quorum-sasl-md5"),
		"other charset":    vectorToken("utf-8", "iso-8859-1"),
		"for another user": vectorToken("qop=auth", `authzid="eve"`),
		"user twice":       vectorToken("qop=auth", `username="bob"`),
		"garbage":          []byte("\x00\x01\x02"),
		"no end of quote":  []byte(`username="bob`),
		"empty":            nil,
		"too long":         []byte(strings.Repeat("a=b,", 2000)),
		"too many":         []byte(many()),
	} {
		t.Run(name, func(t *testing.T) {
			s := vectorServer()
			_, err := s.Step(nil)
			require.NoError(t, err)
			_, err = s.Step(token)
			require.Error(t, err)
			require.False(t, s.Done())
			require.Empty(t, s.User())
			require.NotContains(t, err.Error(), "secret")
			_, err = s.Step(vectorToken())
			require.Error(t, err, "after a failure nothing helps")
			require.False(t, s.Done())
		})
	}
}

func many() string {
	var b strings.Builder
	for i := range directivesMax + 1 {
		b.WriteString(strings.Repeat("k", i+1) + "=1,")
	}
	return b.String()[:min(b.Len(), TokenMax)]
}

func TestServerTakesNothingAfterTheEnd(t *testing.T) {
	s := vectorServer()
	_, err := s.Step(nil)
	require.NoError(t, err)
	_, err = s.Step(vectorToken())
	require.NoError(t, err)
	_, err = s.Step(nil)
	require.ErrorIs(t, err, ErrAuth)
	require.False(t, s.Done())
}

func TestServerWantsAnEmptyFirstToken(t *testing.T) {
	_, err := vectorServer().Step(vectorToken())
	require.ErrorIs(t, err, ErrAuth)
}

func TestVariantsOfTheResponse(t *testing.T) {
	for name, token := range map[string][]byte{
		"as it is":       vectorToken(),
		"blanks":         vectorToken(",", " ,\r\n\t", "=utf", " = utf"),
		"case of keys":   vectorToken("username", "UserName", "nonce", "NONCE"),
		"no charset":     vectorToken("charset=utf-8,", ""),
		"no qop":         vectorToken(",qop=auth", ""),
		"quoted":         vectorToken("response="+vectorResponse, `response="`+vectorResponse+`"`),
		"escaped":        vectorToken(`"bob"`, `"\b\ob"`),
		"empty elements": vectorToken(",", ",,"),
		"unquoted nonce": vectorToken(`cnonce="`+vectorCnonce+`"`, "cnonce="+vectorCnonce),
		"unknown key":    vectorToken("qop=auth", "qop=auth,later=1"),
	} {
		t.Run(name, func(t *testing.T) {
			s := vectorServer()
			_, err := s.Step(nil)
			require.NoError(t, err)
			_, err = s.Step(token)
			require.NoError(t, err)
			require.Equal(t, "bob", s.User())
		})
	}
}

// exchange runs both sides and returns what each says.
func exchange(s *Server, c *Client) (fromServer, fromClient error) {
	var token []byte
	for range 3 {
		reply, err := s.Step(token)
		if err != nil {
			return err, nil
		}
		if token, err = c.Step(reply); err != nil || c.Done() {
			return nil, err
		}
	}
	return nil, nil
}

func TestNamesAndPasswordsOfAllAlphabets(t *testing.T) {
	for user, password := range passwords {
		if user == "" {
			continue
		}
		s := NewServer(QuorumRealm, bob, vectorNonce)
		fromServer, fromClient := exchange(s, NewClient(QuorumRealm, user, password, vectorCnonce))
		require.NoError(t, fromServer)
		require.NoError(t, fromClient)
		require.Equal(t, user, s.User())

		fromServer, _ = exchange(NewServer(QuorumRealm, bob, vectorNonce),
			NewClient(QuorumRealm, user, password+"x", vectorCnonce))
		require.ErrorIs(t, fromServer, ErrAuth)
		fromServer, _ = exchange(NewServer(QuorumRealm, bob, vectorNonce),
			NewClient(ClientRealm, user, password, vectorCnonce))
		require.ErrorIs(t, fromServer, ErrAuth, "an exchange for one realm is none for the other")
	}
}

func TestLatin1WithoutCharset(t *testing.T) {
	s := NewServer(ClientRealm, bob, vectorNonce)
	challenge, err := s.Step(nil)
	require.NoError(t, err)
	response, err := NewClient(ClientRealm, "jürgen", "pässword", vectorCnonce).Step(challenge)
	require.NoError(t, err)
	text := strings.Replace(string(response), "charset=utf-8,", "", 1)
	_, err = s.Step([]byte(strings.Replace(text, "jürgen", "j\xfcrgen", 1)))
	require.NoError(t, err)
	require.Equal(t, "jürgen", s.User())
}

func TestClientRefuses(t *testing.T) {
	for name, tokens := range map[string][]string{
		"no nonce":        {`realm="r",algorithm=md5-sess`},
		"other algorithm": {`nonce="n",algorithm=md5`},
		"no auth":         {`nonce="n",algorithm=md5-sess,qop="auth-int,auth-conf"`},
		"garbage":         {"="},
		"wrong proof":     {`nonce="n",algorithm=md5-sess,qop="auth-int,auth"`, "rspauth=" + vectorRspauth},
		"no proof":        {`nonce="n",algorithm=md5-sess`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewClient(ClientRealm, "bob", "bobsecret", vectorCnonce)
			var err error
			for _, token := range tokens {
				require.NoError(t, err)
				_, err = c.Step([]byte(token))
			}
			require.Error(t, err)
			require.False(t, c.Done())
			_, err = c.Step([]byte(`nonce="n",algorithm=md5-sess`))
			require.ErrorIs(t, err, ErrAuth)
		})
	}
}

func FuzzServer(f *testing.F) {
	f.Add(vectorToken())
	f.Add([]byte(`username="\`))
	f.Add([]byte("a=\"b\"c=d"))
	f.Fuzz(func(t *testing.T, token []byte) {
		s := vectorServer()
		_, err := s.Step(nil)
		require.NoError(t, err)
		_, err = s.Step(token)
		if err == nil {
			require.Equal(t, "bob", s.User())
			require.Contains(t, strings.ToLower(string(token)), vectorResponse)
		}
		_, _ = NewClient(ClientRealm, "bob", "bobsecret", vectorCnonce).Step(token)
	})
}
