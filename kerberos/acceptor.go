package kerberos

import (
	"cmp"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// MaxSkew is how far the clocks of a client and of the service may be apart.
const MaxSkew = 5 * time.Minute

// Acceptor is the service's side. It asks no KDC: tickets prove themselves.
type Acceptor struct {
	service Principal
	keys    func() *Keytab
	now     func() time.Time
	seen    replays
}

// NewAcceptor returns the acceptor of tickets for a service, which must have a realm. It calls keys for each ticket,
// so that a keytab can be replaced, and now for the time, both from any goroutine.
func NewAcceptor(service Principal, keys func() *Keytab, now func() time.Time) *Acceptor {
	return &Acceptor{service: service, keys: keys, now: now, seen: replays{period: 2 * MaxSkew}}
}

// Service is the principal that tickets must be for.
func (a *Acceptor) Service() Principal { return a.service }

// Accept begins an exchange.
func (a *Acceptor) Accept() *Acceptance { return &Acceptance{of: a} }

// Acceptance is the service's side of one exchange.
type Acceptance struct {
	of     *Acceptor
	state  state
	client Principal
	keys   *keys
}

// state is how far an exchange is.
type state uint8

const (
	stateNew state = iota
	stateProved
	stateOffered
	stateDone
	stateFailed
)

// Done reports whether the client has proved its identity and the exchange is over.
func (x *Acceptance) Done() bool { return x.state == stateDone }

// Client returns the principal of the client; the zero value before Done.
func (x *Acceptance) Client() Principal {
	if !x.Done() {
		return Principal{}
	}
	return x.client
}

var (
	errState     = errors.New("kerberos: a token after the end of the exchange")
	errNoTicket  = errors.New("kerberos: the client sends no ticket: it does not use Kerberos")
	errNotEmpty  = errors.New("kerberos: the client's second token is not empty")
	errNoConsent = errors.New("kerberos: the client asks for a security layer, use TLS instead")
)

// noLayer says that a side offers, or takes, no security layer, and no messages in one. Source: RFC 4752 section 3.3.
const noLayer = 1

// Step takes a token of the client and returns the answer; the last answer is nil. After an error every further token
// is an error.
func (x *Acceptance) Step(token []byte) (reply []byte, err error) {
	switch x.state {
	case stateNew:
		reply, err = x.admit(token)
	case stateProved:
		if len(token) > 0 {
			err = errNotEmpty
			break
		}
		reply, err = x.keys.wrap([]byte{noLayer, 0, 0, 0})
		x.state = stateOffered
	case stateOffered:
		// The rest of the text is the name as which the client wants to act. Its identity is the one that it has
		// proved.
		var text []byte
		if text, err = x.keys.unwrap(token); err == nil && (len(text) < 4 || text[0] != noLayer) {
			err = errNoConsent
		}
		x.state = stateDone
	default:
		err = errState
	}
	if err != nil {
		x.state = stateFailed
		return nil, err
	}
	return reply, nil
}

// admit judges the first token and answers it.
func (x *Acceptance) admit(token []byte) ([]byte, error) {
	if len(token) == 0 {
		return nil, errNoTicket
	}
	kind, message, err := unframe(token)
	if err != nil {
		return nil, err
	}
	var req messages.APReq
	if kind != kindAPReq || req.Unmarshal(message) != nil {
		return nil, errToken
	}
	if x.client, err = x.of.judge(&req); err != nil {
		return nil, err
	}
	session, said := req.Ticket.DecryptedEncPart.Key, &req.Authenticator
	if !isMutual(said) {
		return x.offer(session, said)
	}
	x.state = stateProved
	key, number := newKey(session.KeyType), newNumber()
	x.keys = newKeys(key, true, true, uint64(number), uint64(uint32(said.SeqNumber)))
	return answer(session, said, key, number)
}

// offer answers a client that does not ask the service to prove itself, such as ZooKeeper's in Java, with the offer
// of no security layer. Its key signs the rest, and both sides begin to count at its number.
func (x *Acceptance) offer(session types.EncryptionKey, said *types.Authenticator) ([]byte, error) {
	key, number := session, uint64(uint32(said.SeqNumber))
	if len(said.SubKey.KeyValue) > 0 {
		key = said.SubKey
	}
	if keySize(key.KeyType) == 0 || len(key.KeyValue) != keySize(key.KeyType) {
		return nil, errOldKey
	}
	x.state, x.keys = stateOffered, newKeys(key, false, true, number, number)
	return x.keys.wrap([]byte{noLayer, 0, 0, 0})
}

// answer makes the AP-REP, which proves that the service could read the authenticator.
func answer(
	session types.EncryptionKey, said *types.Authenticator, key types.EncryptionKey, number int64,
) ([]byte, error) {
	part, err := asn1.Marshal(messages.EncAPRepPart{CTime: said.CTime.UTC(), Cusec: said.Cusec, Subkey: key,
		SequenceNumber: number})
	if err != nil {
		return nil, fmt.Errorf("kerberos: AP-REP: %w", err)
	}
	data, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(part, asnAppTag.EncAPRepPart), session,
		keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		return nil, fmt.Errorf("kerberos: AP-REP: %w", err)
	}
	rep, err := asn1.Marshal(messages.APRep{PVNO: iana.PVNO, MsgType: msgtype.KRB_AP_REP, EncPart: data})
	if err != nil {
		return nil, fmt.Errorf("kerberos: AP-REP: %w", err)
	}
	return frame(kindAPRep, asn1tools.AddASNAppTag(rep, asnAppTag.APREP)), nil
}

// The reasons for which a ticket or an authenticator is refused.
var (
	errForged = errors.New("kerberos: the ticket is not encrypted with the key of the service: it is forged, " +
		"or the keytab is old")
	errInvalid  = errors.New("kerberos: the ticket is not valid yet, or the clock of this server is behind")
	errExpired  = errors.New("kerberos: the ticket has expired")
	errSession  = errors.New("kerberos: the authenticator is not encrypted with the key of the ticket")
	errStolen   = errors.New("kerberos: the authenticator and the ticket are for different clients")
	errSkew     = fmt.Errorf("kerberos: the clocks of the client and of the server are more than %v apart", MaxSkew)
	errReplay   = errors.New("kerberos: the authenticator was used before")
	errChecksum = errors.New("kerberos: the authenticator has no checksum of GSSAPI")
	errUserKey  = errors.New("kerberos: the ticket is encrypted with the key of a session, not with " +
		"that of the service")
	errTransited = errors.New("kerberos: the ticket came through other realms, which no KDC has checked")
)

// judge checks an AP-REQ and returns its client. Source: RFC 4120 section 3.2.3, RFC 4121 section 4.1.1.
func (a *Acceptor) judge(req *messages.APReq) (Principal, error) {
	ticket := &req.Ticket
	asked := Principal{Components: ticket.SName.NameString, Realm: ticket.Realm}
	switch {
	case !asked.Equal(a.service):
		return Principal{}, fmt.Errorf("kerberos: the ticket is for %.200q, this is %s", asked.String(), a.service)
	case types.IsFlagSet(&req.APOptions, flags.APOptionUseSessionKey):
		return Principal{}, errUserKey
	}
	if err := a.open(ticket); err != nil {
		return Principal{}, err
	}
	inside, now := &ticket.DecryptedEncPart, a.now().UTC()
	from := cmp.Or(inside.StartTime, inside.AuthTime)
	switch {
	case types.IsFlagSet(&inside.Flags, flags.Invalid) || from.Sub(now) > MaxSkew:
		return Principal{}, errInvalid
	case now.Sub(inside.EndTime) > MaxSkew:
		return Principal{}, errExpired
	case inside.CRealm != a.service.Realm && len(inside.Transited.Contents) > 0 &&
		!types.IsFlagSet(&inside.Flags, flags.TransitedPolicyChecked):
		return Principal{}, errTransited
	}
	client, err := named(inside.CName, inside.CRealm)
	if err != nil {
		return Principal{}, err
	}
	return client, a.judgeAuthenticator(req, client, now)
}

// open decrypts a ticket for the service.
func (a *Acceptor) open(ticket *messages.Ticket) error {
	key, err := a.keys().key(a.service, ticket.EncPart.KVNO, ticket.EncPart.EType)
	if err != nil {
		return err
	}
	text, err := decrypt(ticket.EncPart, key, keyusage.KDC_REP_TICKET)
	if errors.Is(err, errSignature) {
		return errForged
	}
	if err != nil {
		return err
	}
	if ticket.DecryptedEncPart.Unmarshal(text) != nil {
		return errToken
	}
	return nil
}

// judgeAuthenticator checks that the client of a ticket has made the AP-REQ, just now and once.
func (a *Acceptor) judgeAuthenticator(req *messages.APReq, client Principal, now time.Time) error {
	text, err := decrypt(req.EncryptedAuthenticator, req.Ticket.DecryptedEncPart.Key, keyusage.AP_REQ_AUTHENTICATOR)
	if errors.Is(err, errSignature) {
		return errSession
	}
	if err != nil {
		return err
	}
	said := &req.Authenticator
	if said.Unmarshal(text) != nil {
		return errToken
	}
	made := said.CTime.Add(time.Duration(said.Cusec) * time.Microsecond)
	switch {
	case !client.Equal(Principal{Components: said.CName.NameString, Realm: said.CRealm}):
		return errStolen
	case now.Sub(made) > MaxSkew || made.Sub(now) > MaxSkew:
		return errSkew
	case !hasFlags(said.Cksum):
		return errChecksum
	}
	return a.seen.add(now, req.EncryptedAuthenticator.Cipher, isMutual(said))
}

// Parts of the checksum of an authenticator: a length, the channel and the flags. Source: RFC 4121 section 4.1.1.
const (
	checksumSize  = 24
	channelSize   = 16
	flagMutual    = 2
	flagReplay    = 4
	flagSequence  = 8
	flagIntegrity = 32
)

// hasFlags reports whether an authenticator is for GSSAPI. A channel that it names is not looked at: there is none
// that both sides know.
func hasFlags(sum types.Checksum) bool {
	b := sum.Checksum
	return sum.CksumType == chksumtype.GSSAPI && len(b) >= checksumSize && binary.LittleEndian.Uint32(b) == channelSize
}

// isMutual reports whether a client asks the service to prove itself.
func isMutual(said *types.Authenticator) bool {
	return binary.LittleEndian.Uint32(said.Cksum.Checksum[4+channelSize:])&flagMutual != 0
}
