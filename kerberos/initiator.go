package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Initiator is the client's side of one exchange. It is a client.Exchange.
type Initiator struct {
	login   *Login
	service string
	state   state
	key     types.EncryptionKey // of the ticket
	said    types.Authenticator
	keys    *keys
}

// Initiate begins an exchange with a service, such as zookeeper/zk1.example.com. Without a realm it is that of
// domain_realm in the krb5.conf, or that of the client.
func (l *Login) Initiate(service string) *Initiator { return &Initiator{login: l, service: service} }

var (
	errService   = errors.New("kerberos: the server has not proved that it is the service")
	errNoOffer   = errors.New("kerberos: the server insists on a security layer")
	errOver      = errors.New("kerberos: the server goes on after the end of the exchange")
	errRefused   = errors.New("kerberos: the server has sent an error instead of its proof")
	errTruncated = errors.New("kerberos: the server ends the exchange too early")
)

// Next takes a token of the server, nil at first, and returns the answer; isLast means that the server has only to
// accept it. The first call may ask a KDC, and waits for it for LoginOptions.Timeout. An error that has a method
// Temporary which returns true may be over at the next attempt: the KDC was away.
func (x *Initiator) Next(challenge []byte) (token []byte, isLast bool, err error) {
	switch x.state {
	case stateNew:
		token, err = x.request()
		x.state = stateProved
	case stateProved:
		err = x.verify(challenge)
		token, x.state = []byte{}, stateOffered
	case stateOffered:
		var text []byte
		if text, err = x.keys.unwrap(challenge); err == nil && (len(text) != 4 || text[0]&noLayer == 0) {
			err = errNoOffer
		}
		if err == nil {
			token, err = x.keys.wrap([]byte{noLayer, 0, 0, 0})
		}
		isLast, x.state = true, stateDone
	default:
		err = errOver
	}
	if err != nil {
		x.state = stateFailed
		return nil, false, err
	}
	return token, isLast, nil
}

// request makes the first token.
func (x *Initiator) request() ([]byte, error) {
	service, err := ParsePrincipal(x.service)
	if err != nil {
		return nil, err
	}
	t, err := x.login.ticket(context.Background(), service)
	if err != nil {
		return nil, err
	}
	said, err := newAuthenticator(t.owner, t.key.KeyType)
	if err != nil {
		return nil, err
	}
	return x.send(t, said)
}

// newAuthenticator returns what a client says at the moment, with a key of its own.
func newAuthenticator(client Principal, kind int32) (types.Authenticator, error) {
	said, err := types.NewAuthenticator(client.Realm, client.wire())
	if err != nil {
		return said, fmt.Errorf("kerberos: authenticator: %w", err)
	}
	said.CTime = said.CTime.Truncate(time.Second) // what is finer is in Cusec
	said.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: gssChecksum()}
	said.SubKey, said.SeqNumber = newKey(kind), newNumber()
	return said, nil
}

// send makes the AP-REQ, whose answer must fit to the authenticator.
func (x *Initiator) send(t ticket, said types.Authenticator) ([]byte, error) {
	x.key, x.said = t.key, said
	req, err := messages.NewAPReq(t.ticket, t.key, said)
	if err != nil {
		return nil, fmt.Errorf("kerberos: AP-REQ: %w", err)
	}
	types.SetFlag(&req.APOptions, flags.APOptionMutualRequired)
	b, err := req.Marshal()
	if err != nil {
		return nil, fmt.Errorf("kerberos: AP-REQ: %w", err)
	}
	return frame(kindAPReq, b), nil
}

func gssChecksum() []byte {
	b := binary.LittleEndian.AppendUint32(nil, channelSize)
	b = append(b, make([]byte, channelSize)...)
	return binary.LittleEndian.AppendUint32(b, flagMutual|flagReplay|flagSequence|flagIntegrity)
}

// verify checks that the server could read the authenticator, and takes its key. Source: RFC 4120 section 3.2.5.
func (x *Initiator) verify(token []byte) error {
	if len(token) == 0 {
		return errTruncated
	}
	kind, message, err := unframe(token)
	if err != nil {
		return err
	}
	if kind == kindError {
		return errRefused
	}
	var rep messages.APRep
	if kind != kindAPRep || rep.Unmarshal(message) != nil {
		return errToken
	}
	text, err := decrypt(rep.EncPart, x.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return errService
	}
	var part messages.EncAPRepPart
	if part.Unmarshal(text) != nil || !part.CTime.Equal(x.said.CTime) || part.Cusec != x.said.Cusec {
		return errService
	}
	key, isAcceptors := part.Subkey, len(part.Subkey.KeyValue) > 0
	if !isAcceptors {
		key = x.said.SubKey
	}
	if keySize(key.KeyType) == 0 || len(key.KeyValue) != keySize(key.KeyType) {
		return errOldKey
	}
	x.keys = newKeys(key, isAcceptors, false, uint64(x.said.SeqNumber), uint64(uint32(part.SequenceNumber)))
	return nil
}
