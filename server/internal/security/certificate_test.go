package security

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// nameOf encodes a name from pairs of object identifier and value; a value that is no string is used unchanged. A
// pair whose identifier is "+" belongs to the relative name before it.
func nameOf(t testing.TB, pairs ...any) []byte {
	t.Helper()
	var name []attributeSET
	for i := 0; i < len(pairs); i += 2 {
		oid, joined := pairs[i].(asn1.ObjectIdentifier), false
		if len(oid) > 0 && oid[0] == -1 {
			oid, joined = oid[1:], true
		}
		a := attribute{Type: oid}
		switch v := pairs[i+1].(type) {
		case string:
			a.Value = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(v)}
		case asn1.RawValue:
			a.Value = v
		}
		if joined {
			name[len(name)-1] = append(name[len(name)-1], a)
		} else {
			name = append(name, attributeSET{a})
		}
	}
	der := must.Do(asn1.Marshal(name))(t)
	return der
}

var (
	oidCN     = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidC      = asn1.ObjectIdentifier{2, 5, 4, 6}
	oidST     = asn1.ObjectIdentifier{2, 5, 4, 8}
	oidO      = asn1.ObjectIdentifier{2, 5, 4, 10}
	oidOU     = asn1.ObjectIdentifier{2, 5, 4, 11}
	oidTitle  = asn1.ObjectIdentifier{2, 5, 4, 12}
	oidSerial = asn1.ObjectIdentifier{2, 5, 4, 5}
	oidUID    = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}
	oidDC     = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}
	oidMail   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
	oidAndOU  = asn1.ObjectIdentifier{-1, 2, 5, 4, 11}
)

// subjects are names with what X500Principal.getName of OpenJDK 17 prints for them.
func subjects(t testing.TB) []struct {
	der  []byte
	want string
} {
	str := func(tag int, v string) asn1.RawValue { return asn1.RawValue{Tag: tag, Bytes: []byte(v)} }
	return []struct {
		der  []byte
		want string
	}{
		{nameOf(t), ""},
		{nameOf(t, oidC, "US", oidST, "CA", oidO, "Acme, Inc", oidOU, "Eng", oidCN, "client"),
			`CN=client,OU=Eng,O=Acme\, Inc,ST=CA,C=US`},
		{nameOf(t, oidDC, str(asn1.TagIA5String, "org"), oidUID, "u"), `UID=u,DC=org`},
		{nameOf(t, oidO, "o", oidCN, "a", oidAndOU, "b"), `CN=a+OU=b,O=o`},
		{nameOf(t, oidCN, `a,b=c+d<e>f#g;h"i\j`), `CN=a\,b\=c\+d\<e\>f\#g\;h\"i\\j`},
		{nameOf(t, oidCN, "  two each  "), `CN=\ \ two each\ \ `},
		{nameOf(t, oidCN, "   "), `CN=\ \ \ `},
		{nameOf(t, oidCN, ""), `CN=`},
		{nameOf(t, oidCN, "a\x00b"), `CN=a\00b`},
		{nameOf(t, oidCN, "zoë 日本 😀"), "CN=zoë 日本 😀"},
		{nameOf(t, oidCN, "\ttab\n"), "CN=\ttab\n"},
		{nameOf(t, oidMail, str(asn1.TagIA5String, "a@b.c"), oidCN, "x"), `CN=x,1.2.840.113549.1.9.1=#16056140622e63`},
		{nameOf(t, oidSerial, str(asn1.TagPrintableString, "42"), oidTitle, "Dr"),
			`2.5.4.12=#0c024472,2.5.4.5=#13023432`},
		{nameOf(t, oidCN, str(asn1.TagPrintableString, "p")), "CN=p"},
		{nameOf(t, oidCN, str(asn1.TagT61String, "t\xe9")), "CN=t\ufffd"},
		{nameOf(t, oidCN, str(asn1.TagBMPString, "\x00b")), `CN=\00b`},
		{nameOf(t, oidCN, str(28, "b")), "CN=#1c0162"}, // UniversalString
		{nameOf(t, oidCN, asn1.RawValue{Tag: asn1.TagInteger, Bytes: []byte{5}}), "CN=#020105"},
	}
}

func TestSubjectNames(t *testing.T) {
	for _, c := range subjects(t) {
		require.Equal(t, c.want, must.Do(subjectName(c.der))(t))
	}
	for _, der := range [][]byte{nil, {0x30}, {0x30, 0x02, 0x31, 0x05}, append(nameOf(t, oidCN, "a"), 0)} {
		require.ErrorIs(t, must.Err(subjectName(der)), errSubjectEncoding)
	}
}

func FuzzSubjectName(f *testing.F) {
	for _, c := range subjects(f) {
		f.Add(c.der)
	}
	odd, _ := hex.DecodeString("300d310b3009060355040613025553")
	f.Add(odd)
	f.Fuzz(func(t *testing.T, der []byte) { _, _ = subjectName(der) })
}

func TestAlternativeNames(t *testing.T) {
	spiffe, _ := url.Parse("spiffe://example.org/ns/prod/sa/web")
	other, _ := url.Parse("https://example.org")
	x := &x509.Certificate{
		URIs: []*url.URL{spiffe, other}, DNSNames: []string{"a.example", "b.example"},
		EmailAddresses: []string{"me@example"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
	}
	for _, c := range []struct {
		id   config.X509ID
		want string
		err  error
	}{
		{config.X509ID{SANType: 6, Match: "spiffe://.*"}, spiffe.String(), nil},
		{config.X509ID{SANType: 6, Match: "spiffe:.*", Extract: "/sa/(.*)$", Group: 1}, "web", nil},
		{config.X509ID{SANType: 6, Match: "spiffe:.*", Extract: "/ns/[a-z]*"}, "/ns/prod", nil},
		{config.X509ID{SANType: 6, Match: "spiffe"}, "", errNoAlternative},
		{config.X509ID{SANType: 6, Match: ".*"}, "", errNoAlternative},
		{config.X509ID{SANType: 2, Match: ".*"}, "", errNoAlternative},
		{config.X509ID{SANType: 2, Match: "b.*"}, "b.example", nil},
		{config.X509ID{SANType: 2, Match: "c|b.*"}, "b.example", nil},
		{config.X509ID{SANType: 1, Match: ".*"}, "me@example", nil},
		{config.X509ID{SANType: 7, Match: ".*"}, "10.0.0.1", nil},
		{config.X509ID{SANType: 1, Match: ".*", Extract: "nothing"}, "", errEmptyCertID},
		{config.X509ID{SANType: 1, Match: ".*", Extract: "x*"}, "", errEmptyCertID},
	} {
		c.id.Type = idAlternative
		n := must.Do(NewCertNames(&config.Security{X509ID: c.id, X509SuperUser: "web"}))(t)
		ids, err := n.Identities(x)
		if c.err != nil {
			require.ErrorIs(t, err, c.err, "%+v", c.id)
			require.Empty(t, ids)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, ids[0].ID)
		require.Len(t, ids, 1+map[bool]int{true: 1}[c.want == "web"])
	}
}
