package krb5

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

const aes = etypeID.AES256_CTS_HMAC_SHA1_96

// Forge gives out keys and tickets in the name of a KDC.
type Forge struct {
	t   testing.TB
	dir string
}

// NewForge returns a forge that writes to a directory of the test.
func NewForge(t testing.TB) *Forge { return &Forge{t, t.TempDir()} }

func (f *Forge) write(name string, b []byte) string {
	name = filepath.Join(f.dir, name)
	require.NoError(f.t, os.WriteFile(name, b, 0o600))
	return name
}

// Config writes a krb5.conf with a default realm, whose KDC is not there.
func (f *Forge) Config(realm string) string {
	return f.write("krb5.conf",
		[]byte("[libdefaults]\n default_realm = "+realm+"\n[realms]\n "+realm+" = {\n  kdc = 127.0.0.1:1\n }\n"))
}

// name splits a principal.
func name(principal string) (n types.PrincipalName, realm string) {
	text, realm, _ := strings.Cut(principal, "@")
	return types.PrincipalName{NameType: 1, NameString: strings.Split(text, "/")}, realm
}

// Keys returns a keytab with the keys that principals have with a password.
func (f *Forge) Keys(password string, principals ...string) []byte {
	f.t.Helper()
	k := keytab.New()
	for _, p := range principals {
		n, realm := name(p)
		require.NoError(f.t, k.AddEntry(strings.Join(n.NameString, "/"), realm, password, time.Unix(1, 0), 1, aes))
	}
	return must.Do(k.Marshal())(f.t)
}

// Keytab writes such a keytab.
func (f *Forge) Keytab(file, password string, principals ...string) string {
	f.t.Helper()
	return f.write(file, f.Keys(password, principals...))
}

// Cache writes a ticket cache of a user with a ticket for each service, which is valid from an hour ago until a time,
// encrypted with the key that the service has with a password.
func (f *Forge) Cache(file, user, password string, until time.Time, services ...string) string {
	f.t.Helper()
	client, realm := name(user)
	began := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	var entries []cacheEntry
	for _, service := range services {
		session := types.EncryptionKey{KeyType: aes, KeyValue: make([]byte, 32)}
		_, _ = rand.Read(session.KeyValue)
		part := messages.EncTicketPart{Flags: types.NewKrbFlags(), Key: session, CRealm: realm, CName: client,
			AuthTime: began, StartTime: began, EndTime: until.UTC().Truncate(time.Second)}
		entries = append(entries, cacheEntry{service, f.seal(part, service, keyOf(f.t, service, password)), part})
	}
	return f.writeCache(file, user, entries...)
}

// cacheEntry is a ticket for a service, and what it says.
type cacheEntry struct {
	service string
	ticket  messages.Ticket
	part    messages.EncTicketPart
}

// writeCache writes a ticket cache of a user.
func (f *Forge) writeCache(file, user string, entries ...cacheEntry) string {
	f.t.Helper()
	u32 := binary.BigEndian.AppendUint32
	data := func(b []byte, text []byte) []byte { return append(u32(b, uint32(len(text))), text...) }
	principal := func(b []byte, text string) []byte {
		n, realm := name(text)
		b = data(u32(u32(b, 1), uint32(len(n.NameString))), []byte(realm))
		for _, part := range n.NameString {
			b = data(b, []byte(part))
		}
		return b
	}
	b := principal([]byte{5, 4, 0, 0}, user)
	for _, e := range entries {
		ticket := must.Do(e.ticket.Marshal())(f.t)
		b = principal(principal(b, user), e.service)
		b = data(append(b, 0, byte(aes)), e.part.Key.KeyValue)
		for _, at := range []time.Time{e.part.AuthTime, e.part.StartTime, e.part.EndTime, e.part.RenewTill} {
			seconds := uint32(0)
			if !at.IsZero() {
				seconds = uint32(at.Unix())
			}
			b = u32(b, seconds)
		}
		b = append(b, 0)
		b = append(b, e.part.Flags.Bytes...)
		b = data(data(u32(u32(b, 0), 0), ticket), nil)
	}
	return f.write(file, b)
}

// seal makes a ticket for a service of what it says, and of the key of the service.
func (f *Forge) seal(part messages.EncTicketPart, service string, key types.EncryptionKey) messages.Ticket {
	f.t.Helper()
	text := must.Do(asn1.Marshal(part))(f.t)
	sealed := must.Do(crypto.GetEncryptedData(asn1tools.AddASNAppTag(text, asnAppTag.EncTicketPart), key,
		keyusage.KDC_REP_TICKET, 1))(f.t)
	n, realm := name(service)
	return messages.Ticket{TktVNO: 5, Realm: realm, SName: n, EncPart: sealed}
}

// keyOf returns the key that a principal has with a password.
func keyOf(t testing.TB, principal, password string) types.EncryptionKey {
	t.Helper()
	n, realm := name(principal)
	key, _ := must.Do2(crypto.GetKeyFromPassword(password, n, realm, aes, types.PADataSequence{}))(t)
	return key
}
