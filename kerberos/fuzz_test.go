package kerberos

import (
	"testing"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// What any client can send does not stop the server, and proves nothing.
func FuzzFirstToken(f *testing.F) {
	w := newWorld(f)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	token := must[[]byte](f)(w.login.Initiate("x").send(held,
		must[types.Authenticator](f)(newAuthenticator(held.owner, 18))))
	f.Add(token)
	f.Add(token[:len(token)/2])
	f.Add(frame(kindAPReq, nil))
	f.Add([]byte("charset=utf-8"))
	f.Fuzz(func(t *testing.T, token []byte) {
		y := w.acceptor.Accept()
		reply, err := y.Step(token)
		if (reply == nil) == (err == nil) || y.Done() {
			t.Fatal("neither an answer nor an error, or both")
		}
	})
}

// The encrypted parts are written by a client that has a ticket, or by a KDC.
func FuzzEncryptedParts(f *testing.F) {
	w := newWorld(f)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	said := must[types.Authenticator](f)(newAuthenticator(held.owner, 18))
	f.Add(must[[]byte](f)(said.Marshal()), []byte{}, false)
	f.Add([]byte{0x62}, []byte{0x63}, true)
	f.Fuzz(func(t *testing.T, authenticator, part []byte, isTicket bool) {
		tkt, session := held.ticket, held.key
		if isTicket {
			key := must[types.EncryptionKey](t)(w.keytab.key(principal(t, zk), 2, 18))
			tkt.EncPart = must[types.EncryptedData](t)(crypto.GetEncryptedData(
				asn1tools.AddASNAppTag(part, asnAppTag.EncTicketPart), key, keyusage.KDC_REP_TICKET, 2))
		}
		data := must[types.EncryptedData](t)(crypto.GetEncryptedData(authenticator, session,
			keyusage.AP_REQ_AUTHENTICATOR, 0))
		req := messages.APReq{PVNO: 5, MsgType: 14, APOptions: types.NewKrbFlags(), Ticket: tkt,
			EncryptedAuthenticator: data}
		y := w.acceptor.Accept()
		_, err := y.Step(frame(kindAPReq, must[[]byte](t)(req.Marshal())))
		if err == nil && isTicket {
			t.Fatal("a ticket with another key was believed")
		}
	})
}

// The answers of a server do not stop a client, which believes none of them.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add(frame(kindAPRep, []byte{0x6f, 0}), []byte{5, 4, 1, 0xff, 0, 12, 0, 0})
	f.Add(frame(kindError, nil), []byte{})
	w := newWorld(f)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		x := w.initiate(held)
		must[[]byte](t)(x.request())
		x.state = stateProved
		if _, _, err := x.Next(first); err == nil {
			t.Fatal("the server was believed")
		}
		x.state, x.keys = stateOffered, newKeys(newKey(18), true, false, 1, 1)
		if _, _, err := x.Next(second); err == nil {
			t.Fatal("the offer was believed")
		}
	})
}

func FuzzKeytab(f *testing.F) {
	b := must[[]byte](f)(newKeytab(f, "x", []int32{18}, zk, bob).entries.Marshal())
	f.Add(b)
	f.Add(b[:len(b)-3])
	p := principal(f, zk)
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := ParseKeytab(b); err == nil {
			_ = k.Check(p)
		}
	})
}

func FuzzTicketCache(f *testing.F) {
	f.Add([]byte{5, 4, 0, 0})
	f.Add([]byte{5, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff})
	f.Add(cacheBytes(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseCache(b); err == nil && len(c.entries) > len(b)/20 {
			t.Fatal("more entries than bytes")
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add("[libdefaults]\ndefault_realm = A\n[realms]\nA = {\n kdc = b\n}\n[realms]\nB = {\n}\ninclude krb5.conf\n")
	f.Add("includedir .\n[libdefaults]\n ticket_lifetime = 1d\n[domain_realm]\n.a = A\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := LoadConfig(write(t, t.TempDir(), "krb5.conf", text)); err == nil {
			_ = c.realmOf("a.b.c")
		}
	})
}

func FuzzPrincipal(f *testing.F) {
	f.Add(zk)
	f.Add("a/_HOST@B")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrincipal(text)
		if err == nil && p.String() != text {
			t.Fatalf("%q is %q", text, p.String())
		}
	})
}
