package client

import (
	"crypto/rand"

	"github.com/seed94657493/warren/proto/digestmd5"
)

// SASL starts an exchange of tokens for a connection to the named host, which is a name or address of the connect
// string. Mechanisms other than DigestMD5 are added by implementing Exchange: the module kerberos beside this one has
// Kerberos.
type SASL func(host string) Exchange

// Exchange is the client's side of one SASL authentication.
type Exchange interface {
	// Next returns the token that answers a challenge of the server; the first challenge is nil. isLast means
	// that the exchange ends when the server has accepted the token. A nil token with isLast means that it has
	// ended. An error ends the client in the state AuthFailed, unless it has a method Temporary() bool that returns
	// true: then the client goes on with the next server.
	Next(challenge []byte) (token []byte, isLast bool, err error)
}

// DigestMD5 is the mechanism of the DigestLoginModule of ZooKeeper's servers. Source: client-protocol 14.2, RFC
// 2831.
func DigestMD5(user, password string) SASL {
	return func(string) Exchange {
		return &digestMD5{client: digestmd5.NewClient(digestmd5.ClientRealm, user, password, rand.Text())}
	}
}

// digestMD5 is an Exchange.
type digestMD5 struct {
	client *digestmd5.Client
	begun  bool
}

// Next implements Exchange.
func (d *digestMD5) Next(challenge []byte) ([]byte, bool, error) {
	if !d.begun {
		d.begun = true
		return []byte{}, false, nil
	}
	token, err := d.client.Step(challenge)
	return token, d.client.Done(), err
}
