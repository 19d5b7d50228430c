package kerberos

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		noError(t, err)
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says wants an error with this text.
func says(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v instead of %s", err, want)
	}
}

func principal(t testing.TB, name string) Principal {
	t.Helper()
	return must[Principal](t)(ParsePrincipal(name))
}

const (
	zk  = "zookeeper/zk1.example.com@EXAMPLE.COM"
	bob = "bob@EXAMPLE.COM"
)

// newKeytab has a key of each principal for each type of encryption, made of a password.
func newKeytab(t testing.TB, password string, kinds []int32, names ...string) *Keytab {
	t.Helper()
	entries := keytab.New()
	for _, name := range names {
		p := principal(t, name)
		for _, kind := range kinds {
			noError(t, entries.AddEntry(strings.Join(p.Components, "/"), p.Realm, password, time.Unix(1, 0), 2,
				kind))
		}
	}
	return &Keytab{entries}
}

// world is a client, a service, and what a KDC would do between them.
type world struct {
	t        testing.TB
	keytab   *Keytab
	acceptor *Acceptor
	now      time.Time
	login    *Login
}

// rightKeys is slow to make.
var rightKeys = sync.OnceValue(func() *Keytab { return newKeytab(&testing.T{}, "secret", encryptions, zk) })

func newWorld(t testing.TB) *world {
	w := &world{t: t, keytab: rightKeys(), now: time.Now()}
	w.acceptor = NewAcceptor(principal(t, zk), func() *Keytab { return w.keytab }, func() time.Time { return w.now })
	conf := write(t, t.TempDir(), "krb5.conf", "[libdefaults]\ndefault_realm = EXAMPLE.COM\n")
	w.login = must[*Login](t)(
		NewLogin(LoginOptions{Principal: bob, Password: "unused", Config: conf, Timeout: time.Millisecond}))
	return w
}

// part is what a KDC writes into a ticket for bob, valid for a day.
func (w *world) part(kind int32) *messages.EncTicketPart {
	b := principal(w.t, bob)
	now := w.now.UTC().Truncate(time.Second)
	return &messages.EncTicketPart{Flags: types.NewKrbFlags(), Key: newKey(kind), CRealm: b.Realm, CName: b.wire(),
		AuthTime: now.Add(-time.Hour), StartTime: now.Add(-time.Hour), EndTime: now.Add(23 * time.Hour)}
}

// seal encrypts a part with the key that a keytab has of a service.
func (w *world) seal(part *messages.EncTicketPart, k *Keytab, service string, kind int32) ticket {
	w.t.Helper()
	s := principal(w.t, service)
	text := must[[]byte](w.t)(asn1.Marshal(*part))
	key := must[types.EncryptionKey](w.t)(k.key(s, 2, kind))
	data := must[types.EncryptedData](w.t)(crypto.GetEncryptedData(
		asn1tools.AddASNAppTag(text, asnAppTag.EncTicketPart), key, keyusage.KDC_REP_TICKET, 2))
	t := messages.Ticket{TktVNO: 5, Realm: s.Realm, SName: s.wire(), EncPart: data}
	return ticket{owner: principal(w.t, bob), ticket: t, key: part.Key, from: part.StartTime,
		until: w.now.Add(24 * time.Hour)}
}

// initiate returns an exchange whose ticket is t.
func (w *world) initiate(t ticket) *Initiator {
	w.login.held["zookeeper/zk1.example.com"] = t
	return w.login.Initiate("zookeeper/zk1.example.com")
}

// talk runs an exchange to its end. change may change tokens on their way, each with its number.
func talk(x *Initiator, y *Acceptance, change func(number int, token []byte) []byte) error {
	var challenge []byte
	for i := 0; ; i += 2 {
		token, isLast, err := x.Next(challenge)
		if err != nil {
			return fmt.Errorf("initiator: %w", err)
		}
		if challenge, err = y.Step(change(i, token)); err != nil {
			return fmt.Errorf("acceptor: %w", err)
		}
		if challenge = change(i+1, challenge); isLast {
			if challenge != nil || !y.Done() {
				return fmt.Errorf("the exchange did not end")
			}
			return nil
		}
	}
}

func same(_ int, token []byte) []byte { return token }

// Both sides prove themselves with every type of encryption that is allowed, and the acceptor knows the client.
func TestExchange(t *testing.T) {
	for _, kind := range encryptions {
		w := newWorld(t)
		y := w.acceptor.Accept()
		if err := talk(w.initiate(w.seal(w.part(kind), w.keytab, zk, kind)), y, same); err != nil {
			t.Fatalf("type %d: %v", kind, err)
		}
		if got := y.Client().String(); got != bob {
			t.Errorf("type %d: client %s", kind, got)
		}
		if _, err := y.Step([]byte{}); err == nil || y.Done() || y.Client().Realm != "" {
			t.Error("a token after the end was taken")
		}
	}
}

// A ticket or an authenticator that RFC 4120 section 3.2.3 forbids is refused, with its reason.
func TestAcceptorRefuses(t *testing.T) {
	const kind = etypeID.AES256_CTS_HMAC_SHA1_96
	for name, tt := range map[string]struct {
		part   func(*messages.EncTicketPart)
		ticket func(w *world, t *ticket)
		req    func(*messages.APReq)
		said   func(*types.Authenticator)
		world  func(w *world)
		want   string
	}{
		"forged": {ticket: func(w *world, t *ticket) {
			*t = w.seal(w.part(kind), newKeytab(w.t, "guessed", []int32{kind}, zk), zk, kind)
		}, want: errForged.Error()},
		"changed": {req: func(r *messages.APReq) { r.Ticket.EncPart.Cipher[20] ^= 1 },
			want: errForged.Error()},
		"short": {req: func(r *messages.APReq) { r.Ticket.EncPart.Cipher = r.Ticket.EncPart.Cipher[:11] },
			want: errToken.Error()},
		"other service": {
			req:  func(r *messages.APReq) { r.Ticket.SName.NameString = []string{"HTTP", "zk1.example.com"} },
			want: "the ticket is for \"HTTP/zk1",
		},
		"other host": {req: func(r *messages.APReq) { r.Ticket.SName.NameString[1] = "zk2.example.com" },
			want: "the ticket is for"},
		"no service": {req: func(r *messages.APReq) { r.Ticket.SName.NameString = []string{} },
			want: "the ticket is for"},
		"other realm": {req: func(r *messages.APReq) { r.Ticket.Realm = "EVIL.COM" },
			want: "the ticket is for"},
		"old key": {req: func(r *messages.APReq) { r.Ticket.EncPart.KVNO = 1 },
			want: "no key of " + zk + " with version 1"},
		"old encryption": {req: func(r *messages.APReq) { r.Ticket.EncPart.EType = etypeID.RC4_HMAC },
			want: "no key of " + zk},
		"expired": {world: func(w *world) { w.now = w.now.Add(23*time.Hour + MaxSkew + time.Minute) },
			want: errExpired.Error()},
		"not yet valid": {part: func(p *messages.EncTicketPart) { p.StartTime = p.StartTime.Add(2 * time.Hour) },
			want: errInvalid.Error()},
		"invalid": {part: func(p *messages.EncTicketPart) { types.SetFlag(&p.Flags, flags.Invalid) },
			want: errInvalid.Error()},
		"clock is behind": {world: func(w *world) { w.now = w.now.Add(-MaxSkew - time.Minute) },
			want: errSkew.Error()},
		"clock is ahead": {world: func(w *world) { w.now = w.now.Add(MaxSkew + time.Minute) },
			want: errSkew.Error()},
		"other client": {said: func(a *types.Authenticator) { a.CName.NameString = []string{"root"} },
			want: errStolen.Error()},
		"other client's realm": {said: func(a *types.Authenticator) { a.CRealm = "EVIL.COM" },
			want: errStolen.Error()},
		"no checksum": {said: func(a *types.Authenticator) { a.Cksum = types.Checksum{} }, want: errChecksum.Error()},
		"user to user": {req: func(r *messages.APReq) { types.SetFlag(&r.APOptions, flags.APOptionUseSessionKey) },
			want: errUserKey.Error()},
		"foreign, by others": {part: func(p *messages.EncTicketPart) {
			p.CRealm, p.Transited = "A.ORG", messages.TransitedEncoding{TRType: 1, Contents: []byte("B.ORG")}
		}, want: errTransited.Error()},
		"name with a slash": {
			part: func(p *messages.EncTicketPart) { p.CName.NameString = []string{"zookeeper/zk2.example.com"} },
			want: "no identity has",
		},
		"name with a realm": {
			part: func(p *messages.EncTicketPart) { p.CName.NameString = []string{"root@EXAMPLE.COM"} },
			want: "no identity has",
		},
		"name with a line": {part: func(p *messages.EncTicketPart) { p.CName.NameString = []string{"bob\nroot"} },
			want: "no identity has"},
		"empty name": {part: func(p *messages.EncTicketPart) { p.CName.NameString = []string{""} },
			want: "no identity has"},
		"old session key": {part: func(p *messages.EncTicketPart) {
			p.Key = types.EncryptionKey{KeyType: etypeID.RC4_HMAC, KeyValue: make([]byte, 16)}
		}, want: errOldKey.Error()},
	} {
		w := newWorld(t)
		part := w.part(kind)
		if tt.part != nil {
			tt.part(part)
		}
		held := w.seal(part, w.keytab, zk, kind)
		if tt.ticket != nil {
			tt.ticket(w, &held)
		}
		x := w.initiate(held)
		said := must[types.Authenticator](t)(newAuthenticator(principal(t, bob), kind))
		if tt.said != nil {
			tt.said(&said)
		}
		token := must[[]byte](t)(x.send(held, said))
		if tt.req != nil {
			var req messages.APReq
			_, message, _ := unframe(token)
			noError(t, req.Unmarshal(message))
			tt.req(&req)
			token = frame(kindAPReq, must[[]byte](t)(req.Marshal()))
		}
		if tt.world != nil {
			tt.world(w)
		}
		y := w.acceptor.Accept()
		_, err := y.Step(token)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v instead of %s", name, err, tt.want)
		}
		if _, err = y.Step(token); err == nil || y.Done() {
			t.Errorf("%s: went on after a failure", name)
		}
	}
}

// A client of a realm that trusts the service's realm directly is known by its own realm.
func TestForeignClient(t *testing.T) {
	const kind = etypeID.AES256_CTS_HMAC_SHA1_96
	for _, checked := range []bool{false, true} {
		w := newWorld(t)
		part := w.part(kind)
		part.CRealm = "A.ORG"
		if checked {
			part.Transited.Contents = []byte("B.ORG")
			types.SetFlag(&part.Flags, flags.TransitedPolicyChecked)
		}
		held := w.seal(part, w.keytab, zk, kind)
		held.owner.Realm = "A.ORG"
		y := w.acceptor.Accept()
		noError(t, talk(w.initiate(held), y, same))
		if got := y.Client().String(); got != "bob@A.ORG" {
			t.Error(got)
		}
	}
}

// An AP-REQ counts once, for as long as its authenticator is valid.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	token, _, err := w.initiate(w.seal(w.part(18), w.keytab, zk, 18)).Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	made := w.now
	// The client's clock is ahead, which makes the time as long as it can be.
	w.now = made.Add(-MaxSkew + 2*time.Second)
	for i := 0; w.now.Before(made.Add(MaxSkew)); i++ {
		_, err := w.acceptor.Accept().Step(token)
		if i == 0 && err != nil || i > 0 && err != errReplay {
			t.Fatalf("attempt %d: %v", i, err)
		}
		w.now = w.now.Add(7 * time.Second)
		if i%3 == 0 { // others authenticate meanwhile
			held := w.seal(w.part(18), w.keytab, zk, 18)
			said := must[types.Authenticator](t)(newAuthenticator(principal(t, bob), 18))
			said.CTime = w.now.UTC().Truncate(time.Second)
			other := must[[]byte](t)(w.login.Initiate("x").send(held, said))
			if _, err := w.acceptor.Accept().Step(other); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A client that does not ask the service to prove itself gets the offer at once, as ZooKeeper's in Java does, and a
// copy of the whole exchange is refused.
func TestOneSidedExchange(t *testing.T) {
	for name, change := range map[string]func(*types.Authenticator){
		"key of the client": func(*types.Authenticator) {},
		"key of the ticket": func(a *types.Authenticator) { a.SubKey = types.EncryptionKey{} },
	} {
		w := newWorld(t)
		held := w.seal(w.part(18), w.keytab, zk, 18)
		said := must[types.Authenticator](t)(newAuthenticator(held.owner, 18))
		said.Cksum.Checksum[20] &^= flagMutual
		change(&said)
		x := w.login.Initiate("x")
		request := must[[]byte](t)(x.send(held, said))
		key := said.SubKey
		if len(key.KeyValue) == 0 {
			key = held.key
		}
		x.keys, x.state = newKeys(key, false, false, uint64(said.SeqNumber), uint64(said.SeqNumber)), stateOffered
		y := w.acceptor.Accept()
		consent, isLast, err := x.Next(must[[]byte](t)(y.Step(request)))
		if err != nil || !isLast {
			t.Fatalf("%s: %v", name, err)
		}
		if reply, err := y.Step(consent); err != nil || reply != nil || y.Client().String() != bob {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := w.acceptor.Accept().Step(request); err != errReplay {
			t.Fatalf("%s: %v", name, err)
		}
	}
	w := newWorld(t)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	said := must[types.Authenticator](t)(newAuthenticator(held.owner, 18))
	said.Cksum.Checksum[20] &^= flagMutual
	said.SubKey.KeyValue = []byte("short")
	if _, err := w.acceptor.Accept().Step(must[[]byte](t)(w.login.Initiate("x").send(held, said))); err != errOldKey {
		t.Fatal(err)
	}
}

func TestReplaysAreForgotten(t *testing.T) {
	r, now := replays{period: time.Minute}, time.Unix(1000, 0)
	add := func(what any, isMutual bool) error { return r.add(now, fmt.Append(nil, what), isMutual) }
	for i := range replaysMax {
		noError(t, add(i, false))
	}
	if add("x", false) != errFull || add("x", true) != nil || add("x", true) != nil || add(1, true) != errReplay ||
		len(r.newer) != replaysMax {
		t.Fatal("a full memory")
	}
	for range 3 {
		now = now.Add(time.Minute)
		noError(t, add(now, false))
	}
	if n := len(r.newer) + len(r.older); n > 2 {
		t.Fatalf("%d are remembered", n)
	}
	was := now
	now = now.Add(-time.Hour)
	if add(was, false) != errReplay {
		t.Fatal("forgotten because the clock went back")
	}
}

// Whatever happens to a token on its way, neither side believes it.
func TestChangedTokens(t *testing.T) {
	for number := range 5 {
		for _, how := range []func([]byte) []byte{
			func(b []byte) []byte { return append(b, 0) },
			func(b []byte) []byte { return b[:max(len(b)-1, 0)] },
			func(b []byte) []byte {
				if len(b) > 0 {
					b[len(b)-1] ^= 1
				}
				return b
			},
			func(b []byte) []byte {
				if len(b) > 30 {
					b[30] ^= 1
				}
				return b
			},
			func(b []byte) []byte {
				if len(b) > 2 {
					b[2] ^= 1
				}
				return b
			},
		} {
			w := newWorld(t)
			before, after := []byte(nil), []byte(nil)
			y := w.acceptor.Accept()
			err := talk(w.initiate(w.seal(w.part(18), w.keytab, zk, 18)), y, func(i int, token []byte) []byte {
				if i != number {
					return token
				}
				before = bytes.Clone(token)
				after = how(bytes.Clone(token))
				return after
			})
			if err == nil && !bytes.Equal(before, after) {
				t.Errorf("token %d was believed: %x instead of %x", number, after, before)
			}
		}
	}
}

// Tokens of this side, and those of another exchange, are not taken for the other side's.
func TestReflectedTokens(t *testing.T) {
	w := newWorld(t)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	var offer []byte
	err := talk(w.initiate(held), w.acceptor.Accept(), func(i int, token []byte) []byte {
		switch i {
		case 3:
			offer = token
		case 4:
			return offer
		}
		return token
	})
	if err == nil || !strings.Contains(err.Error(), errToken.Error()) {
		t.Errorf("%v", err)
	}
	var consent []byte
	record := func(i int, token []byte) []byte {
		if i == 4 {
			consent = token
		}
		return token
	}
	noError(t, talk(w.initiate(held), w.acceptor.Accept(), record))
	err = talk(w.initiate(held), w.acceptor.Accept(), func(i int, token []byte) []byte {
		if i == 4 {
			return consent
		}
		return token
	})
	if err == nil || !strings.Contains(err.Error(), errSignature.Error()) {
		t.Errorf("%v", err)
	}
}

// The acceptor offers no security layer and takes none; a body may be rotated.
func TestLayers(t *testing.T) {
	for name, tt := range map[string]struct {
		text    []byte
		flags   byte
		rotated int
		want    error
	}{
		"none":         {text: []byte{noLayer, 0, 0, 0}},
		"with a name":  {text: []byte("\x01\x00\x00\x00root@EXAMPLE.COM")},
		"rotated":      {text: []byte{noLayer, 0, 0, 0}, rotated: 12},
		"rotated more": {text: []byte{noLayer, 0, 0, 0}, rotated: 0xffff},
		"integrity":    {text: []byte{2, 0, 1, 0}, want: errNoConsent},
		"both":         {text: []byte{3, 0, 1, 0}, want: errNoConsent},
		"short":        {text: []byte{noLayer}, want: errNoConsent},
		"encrypted":    {text: []byte{noLayer, 0, 0, 0}, flags: flagEncrypted, want: errEncrypted},
		"other key":    {text: []byte{noLayer, 0, 0, 0}, flags: flagAcceptorKey, want: errToken},
	} {
		w := newWorld(t)
		x, y := w.initiate(w.seal(w.part(18), w.keytab, zk, 18)), w.acceptor.Accept()
		err := talk(x, y, func(i int, token []byte) []byte {
			if i != 4 {
				return token
			}
			x.keys.mine ^= tt.flags
			x.keys.send--
			b := must[[]byte](t)(x.keys.wrap(tt.text))
			body := bytes.Clone(b[wrapHeader:])
			b[6], b[7] = byte(tt.rotated>>8), byte(tt.rotated)
			for i := range body {
				b[wrapHeader+(i+tt.rotated)%len(body)] = body[i]
			}
			return b
		})
		if tt.want == nil && (err != nil || y.Client().String() != bob) ||
			tt.want != nil && (err == nil || !strings.Contains(err.Error(), tt.want.Error())) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client that does not use Kerberos is told from one that does it wrong.
func TestOtherMechanisms(t *testing.T) {
	w := newWorld(t)
	for want, token := range map[error][]byte{
		errNoTicket:  {},
		errToken:     []byte("charset=utf-8"),
		errTokenSize: make([]byte, TokenMax+1),
		errMechanism: {0x60, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x03, 1, 0},
	} {
		if _, err := w.acceptor.Accept().Step(token); err != want {
			t.Errorf("%v instead of %v", err, want)
		}
	}
}
