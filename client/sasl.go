package client

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// SASL starts an exchange of tokens for a connection to the named host. Mechanisms other than DigestMD5, such as
// Kerberos, are added by implementing Exchange.
type SASL func(host string) Exchange

// Exchange is the client's side of one SASL authentication.
type Exchange interface {
	// Next returns the token that answers a challenge of the server; the first challenge is nil. isLast means
	// that the exchange ends when the server has accepted the token. A nil token with isLast means that it has
	// ended.
	Next(challenge []byte) (token []byte, isLast bool, err error)
}

// DigestMD5 is the mechanism of the DigestLoginModule of ZooKeeper's servers. Source: client-protocol 14.2, RFC
// 2831.
func DigestMD5(user, password string) SASL {
	return func(string) Exchange { return &digestMD5{user: user, password: password, cnonce: randomText} }
}

const digestURI = "zookeeper/zk-sasl-md5"

type digestMD5 struct {
	user, password string
	cnonce         func() string
	step           int
	rspauth        string // the expected proof of the server
}

func (d *digestMD5) Next(challenge []byte) ([]byte, bool, error) {
	d.step++
	switch d.step {
	case 1:
		return []byte{}, false, nil
	case 2:
		return d.respond(challenge)
	}
	fields, err := parseDigest(string(challenge))
	if err != nil {
		return nil, false, err
	}
	if d.step > 3 || fields["rspauth"] != d.rspauth {
		return nil, false, errors.New("digest-md5: the server does not know the password")
	}
	return nil, true, nil
}

func (d *digestMD5) respond(challenge []byte) ([]byte, bool, error) {
	fields, err := parseDigest(string(challenge))
	if err != nil {
		return nil, false, err
	}
	realm, nonce := fields["realm"], fields["nonce"]
	if nonce == "" || fields["algorithm"] != "md5-sess" {
		return nil, false, fmt.Errorf("digest-md5: unusable challenge, algorithm %q", fields["algorithm"])
	}
	if qop, ok := fields["qop"]; ok && !hasToken(qop, "auth") {
		return nil, false, fmt.Errorf("digest-md5: the server wants quality of protection %q", qop)
	}
	cnonce := d.cnonce()
	var response string
	response, d.rspauth = digestResponse(d.user, d.password, realm, nonce, cnonce, digestURI)
	token := fmt.Sprintf(`charset=utf-8,username=%s,realm=%s,nonce=%s,nc=00000001,cnonce=%s,digest-uri=%s,maxbuf=65536,response=%s,qop=auth`,
		quote(d.user), quote(realm), quote(nonce), quote(cnonce), quote(digestURI), response)
	return []byte(token), false, nil
}

// digestResponse computes the proof of each side.
func digestResponse(user, password, realm, nonce, cnonce, uri string) (response, rspauth string) {
	secret := md5.Sum([]byte(user + ":" + realm + ":" + password))
	a1 := hexMD5(string(secret[:]) + ":" + nonce + ":" + cnonce)
	proof := func(a2 string) string {
		return hexMD5(a1 + ":" + nonce + ":00000001:" + cnonce + ":auth:" + hexMD5(a2))
	}
	return proof("AUTHENTICATE:" + uri), proof(":" + uri)
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func randomText() string {
	return rand.Text()
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func hasToken(list, token string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(t) == token {
			return true
		}
	}
	return false
}

// parseDigest splits key=value pairs, whose values may be quoted.
func parseDigest(s string) (map[string]string, error) {
	fields := map[string]string{}
	for i := 0; i < len(s); {
		if s[i] == ',' || s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		eq := strings.IndexByte(s[i:], '=')
		if eq <= 0 {
			return nil, fmt.Errorf("digest-md5: no key at %d of the challenge", i)
		}
		key := strings.ToLower(strings.TrimSpace(s[i : i+eq]))
		i += eq + 1
		var value strings.Builder
		if i < len(s) && s[i] == '"' {
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
				}
				value.WriteByte(s[i])
			}
			if i == len(s) {
				return nil, fmt.Errorf("digest-md5: value of %s does not end", key)
			}
			i++
		} else {
			for ; i < len(s) && s[i] != ','; i++ {
				value.WriteByte(s[i])
			}
		}
		if _, again := fields[key]; again && (key == "nonce" || key == "algorithm") {
			return nil, fmt.Errorf("digest-md5: %s is given twice", key)
		}
		fields[key] = value.String()
	}
	return fields, nil
}
