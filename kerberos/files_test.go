package kerberos

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	noError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// A krb5.conf is read with what it includes, and its sections may be there more than once.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	parts := filepath.Join(dir, "krb5.conf.d")
	noError(t, os.Mkdir(parts, 0o700))
	write(t, parts, "one.conf", "[realms]\n B.ORG = {\n  kdc = kdc.b.org\n }\n")
	write(t, parts, "two", "[domain_realm]\n .b.org = B.ORG\n")
	write(t, parts, "three.conf~", "[libdefaults]\n default_realm = WRONG\n")
	write(t, parts, ".hidden.conf", "[libdefaults]\n default_realm = WRONG\n")
	other := write(t, dir, "other", "[realms]\n C.ORG = {\n  kdc = kdc.c.org:88\n }\n")
	name := write(t, dir, "krb5.conf",
		"# a comment\nincludedir "+parts+"\ninclude "+other+"\n[libdefaults]\n default_realm = A.ORG\n"+
			"[logging]\n default = FILE:/x\n[realms]\n A.ORG = {\n  kdc = kdc.a.org\n }\n[appdefaults]\n x = y\n")
	c := must[*Config](t)(LoadConfig(name))
	if c.DefaultRealm() != "A.ORG" || c.realmOf("ZK.b.org") != "B.ORG" || c.realmOf("zk.a.org") != "" {
		t.Errorf("%s, %s", c.DefaultRealm(), c.realmOf("zk.b.org"))
	}
	for realm, kdc := range map[string]string{
		"A.ORG": "kdc.a.org:88", "B.ORG": "kdc.b.org:88", "C.ORG": "kdc.c.org:88",
	} {
		if _, found, err := c.c.GetKDCs(realm, true); err != nil || found[1] != kdc {
			t.Errorf("%s: %v, %v", realm, found, err)
		}
	}
	if lib := c.c.LibDefaults; !lib.DNSLookupKDC || len(lib.DefaultTktEnctypeIDs) != len(encryptions) {
		t.Errorf("%+v", lib)
	}
	c = must[*Config](t)(LoadConfig(write(t, dir, "krb5.conf",
		"[libdefaults]\n dns_lookup_kdc = false\n default_tkt_enctypes = aes128-cts arcfour-hmac\n")))
	if lib := c.c.LibDefaults; lib.DNSLookupKDC || len(lib.DefaultTktEnctypeIDs) != 1 {
		t.Errorf("%+v", lib)
	}
	for want, text := range map[string]string{
		"no such file":     "include " + filepath.Join(dir, "none"),
		"more than":        "include " + name,
		"libdefaults sect": "[libdefaults]\n ticket_lifetime = soon\n",
		"line of more":     "# " + strings.Repeat("x", 1<<16) + "\n[libdefaults]\n default_realm = A.ORG\n",
	} {
		_, err := LoadConfig(write(t, dir, "krb5.conf", text))
		says(t, err, want)
	}
}

func TestPrincipals(t *testing.T) {
	for _, text := range []string{"bob", "bob@A", "zookeeper/zk1.a.org@A.ORG", "a/b/c@D"} {
		if got := principal(t, text).String(); got != text {
			t.Errorf("%s instead of %s", got, text)
		}
	}
	for _, text := range []string{
		"", "@A", "bob@", "bob@A@B", "bob@A/B", "a//b@C", "a/@C", "b b@C", `b\/c@D`, "b\n@C",
		strings.Repeat("x", nameMax+1),
	} {
		if _, err := ParsePrincipal(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for text, want := range map[string]string{
		"zookeeper/_HOST@A": "zookeeper/zk1.a.org@A", "zookeeper/b@A": "zookeeper/b@A", "_HOST@A": "_HOST@A",
	} {
		if got := principal(t, text).At("ZK1.a.org.").String(); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

func TestKeytab(t *testing.T) {
	k := newKeytab(t, "x", []int32{etypeID.AES128_CTS_HMAC_SHA1_96}, zk)
	noError(t, k.entries.AddEntry("bob", "EXAMPLE.COM", "x", time.Unix(1, 0), 1, etypeID.RC4_HMAC))
	again := must[*Keytab](t)(ParseKeytab(must[[]byte](t)(k.entries.Marshal())))
	if err := again.Check(principal(t, zk)); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		bob: "old encryption only", "eve@EXAMPLE.COM": "no key of eve", "bob@OTHER": "no key of bob@OTHER",
	} {
		says(t, again.Check(principal(t, name)), want)
	}
	for _, b := range [][]byte{nil, {5, 2}, []byte("Server {"), make([]byte, KeytabBytesMax+1)} {
		if _, err := ParseKeytab(b); err == nil {
			t.Errorf("%d bytes are taken", len(b))
		}
	}
}

// cacheBytes is a ticket cache of bob as kinit writes it: with an entry of its configuration, a ticket for tickets
// that has expired, and one that has not.
func cacheBytes(t testing.TB) []byte {
	u32 := binary.BigEndian.AppendUint32
	data := func(b []byte, text string) []byte { return append(u32(b, uint32(len(text))), text...) }
	name := func(b []byte, p Principal) []byte {
		b = data(u32(u32(b, 1), uint32(len(p.Components))), p.Realm)
		for _, c := range p.Components {
			b = data(b, c)
		}
		return b
	}
	owner, krbtgt := principal(t, bob), principal(t, "krbtgt/EXAMPLE.COM@EXAMPLE.COM")
	w := &world{t: t, now: time.Now(), keytab: newKeytab(t, "x", []int32{18}, krbtgt.String())}
	tgt := must[[]byte](t)(func() ([]byte, error) {
		k := w.seal(w.part(18), w.keytab, krbtgt.String(), 18).ticket
		return k.Marshal()
	}())
	b := name([]byte{5, 4, 0, 12, 0, 1, 0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, owner)
	for _, e := range []struct {
		service Principal
		until   time.Time
		ticket  string
	}{
		{Principal{[]string{"krb5_ccache_conf_data", "fast_avail"}, "X-CACHECONF:"}, time.Unix(0, 0), "yes"},
		{krbtgt, time.Now().Add(-time.Minute), string(tgt)},
		{krbtgt, time.Now().Add(time.Hour), string(tgt)},
	} {
		b = name(name(b, owner), e.service)
		b = data(append(b, 0, 18), strings.Repeat("k", 32))
		for _, at := range []time.Time{time.Now().Add(-time.Hour), time.Unix(0, 0), e.until, time.Unix(0, 0)} {
			b = u32(b, uint32(at.Unix()))
		}
		b = append(b, 0, 0x40, 0xe1, 0, 0)
		b = data(append(u32(b, 1), 0, 2), "\x7f\x00\x00\x01") // one address
		b = data(data(u32(b, 0), e.ticket), "")
	}
	return b
}

func TestTicketCache(t *testing.T) {
	dir, b := t.TempDir(), cacheBytes(t)
	c := must[*ticketCache](t)(parseCache(b))
	if c.owner.String() != bob || len(c.entries) != 2 ||
		c.entries[1].service.String() != "krbtgt/EXAMPLE.COM@EXAMPLE.COM" {
		t.Fatalf("%+v", c)
	}
	for n := range b { // also while kinit is writing it
		if c, err := parseCache(b[:n]); err == nil && len(c.entries) == 2 {
			t.Fatalf("%d of %d bytes are taken", n, len(b))
		}
	}
	conf := write(t, dir, "krb5.conf", "[libdefaults]\ndefault_realm=EXAMPLE.COM\n")
	t.Setenv("KRB5CCNAME", "FILE:"+write(t, dir, "cc", string(b)))
	l := must[*Login](t)(NewLogin(LoginOptions{Config: conf}))
	if err := l.renew(time.Now()); err != nil || l.owner.String() != bob || l.tgt.owner.String() != bob ||
		!l.tgt.isFresh(time.Now()) {
		t.Errorf("%v %+v", err, l.owner)
	}
	for want, name := range map[string]string{"run kinit": "FILE:" + dir + "/none",
		"only caches of the kind FILE": "KEYRING:x", "or a damaged one": write(t, dir, "half", string(b[:100])),
		"no valid ticket: run kinit": write(t, dir, "empty", string(b[:ownerEnd]))} {
		l := must[*Login](t)(NewLogin(LoginOptions{Config: conf, TicketCache: name}))
		_, err := l.ticket(t.Context(), principal(t, zk))
		var later interface{ Temporary() bool }
		says(t, err, want)
		if !errors.As(err, &later) || !later.Temporary() {
			t.Errorf("%v is final", err)
		}
	}
	if _, err := must[*Login](t)(NewLogin(LoginOptions{Config: conf, Principal: "eve"})).
		ticket(t.Context(), principal(t, zk)); err == nil || !strings.Contains(err.Error(), "not of eve@EXAMPLE.COM") {
		t.Error(err)
	}
}

// ownerEnd is how long the part of cacheBytes before the first entry is.
const ownerEnd = 16 + 8 + 4 + len("EXAMPLE.COM") + 4 + len("bob")

// A login says what it lacks before it asks a KDC, and what a KDC said.
func TestLogin(t *testing.T) {
	dir := t.TempDir()
	conf := write(t, dir, "krb5.conf",
		"[libdefaults]\ndns_lookup_kdc=false\n[realms]\nEXAMPLE.COM = {\n kdc = 127.0.0.1:1\n}\n")
	keys := write(t, dir, "bob.keytab", string(must[[]byte](t)(newKeytab(t, "x", []int32{18}, bob).entries.Marshal())))
	for want, o := range map[string]LoginOptions{
		"no such file":        {Config: filepath.Join(dir, "none")},
		"needs its principal": {Config: conf, Keytab: keys},
		"no default_realm":    {Config: conf, Principal: "bob", Keytab: keys},
		"not a principal":     {Config: conf, Principal: "bob@", Keytab: keys},
		"keytab: open":        {Config: conf, Principal: bob, Keytab: filepath.Join(dir, "none")},
		"no key of eve":       {Config: conf, Principal: "eve@EXAMPLE.COM", Keytab: keys},
		"not a keytab":        {Config: conf, Principal: bob, Keytab: conf},
	} {
		_, err := NewLogin(o)
		says(t, err, want)
	}
	l := must[*Login](t)(NewLogin(LoginOptions{Config: conf, Principal: bob, Keytab: keys}))
	_, _, err := l.Initiate("zookeeper/zk1.example.com").Next(nil)
	var later interface{ Temporary() bool }
	if !errors.As(err, &later) || !later.Temporary() ||
		!strings.Contains(err.Error(), "no KDC has given a ticket to "+bob) {
		t.Errorf("%v", err)
	}
}

// A ticket is used as long as it is valid, even when no KDC gives a new one.
func TestHeldTicket(t *testing.T) {
	w := newWorld(t)
	held := w.seal(w.part(18), w.keytab, zk, 18)
	service := principal(t, "zookeeper/zk1.example.com")
	for name, tt := range map[string]struct {
		from, until time.Duration
		want        bool
	}{
		"fresh": {-time.Hour, time.Hour, true}, "old": {-time.Hour, time.Minute, true},
		"nearly over": {-time.Hour, spare / 2, false}, "over": {-2 * time.Hour, -time.Hour, false},
	} {
		held.from, held.until = time.Now().Add(tt.from), time.Now().Add(tt.until)
		w.initiate(held)
		if _, err := w.login.ticket(t.Context(), service); (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The timer of the next ticket does not keep a login that its owner has forgotten.
func TestForgottenLogin(t *testing.T) {
	w := newWorld(t)
	w.login.mu.Lock()
	w.login.beginAfter(time.Hour, principal(t, zk))
	w.login.mu.Unlock()
	login := weak.Make(w.login)
	runtime.GC()
	if login.Value() == nil {
		t.Fatal("the owner has not forgotten it yet")
	}
	runtime.KeepAlive(w)
	w = nil
	for i := 0; login.Value() != nil; i++ {
		if runtime.GC(); i > 100 {
			t.Fatal("the login is kept")
		}
	}
}
