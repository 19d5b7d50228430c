package auth

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hashes of client-protocol 10.6.
func TestDigestIdentity(t *testing.T) {
	require.Equal(t, "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=", NewDigestIdentity("bob", "secret").ID)
	require.Equal(t, "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", NewDigestIdentity("super", "test").ID)
	require.Equal(t, "nocolon:Ra+cHr2ZoHvBjtNArFGNGlVie4g=", DigestIdentity("nocolon").ID)
	require.Equal(t, NewDigestIdentity("a", "b:c"), DigestIdentity("a:b:c"))
	_, ok := DigestID("MD2", nil)
	require.False(t, ok)
}

func TestIPIdentityText(t *testing.T) {
	require.Equal(t, "127.0.0.1", ip("127.0.0.1").ID)
	require.Equal(t, "127.0.0.1", ip("::ffff:127.0.0.1").ID)
	require.Equal(t, "0:0:0:0:0:0:0:1", ip("::1").ID)
	require.Equal(t, "fe80:0:0:0:0:0:0:ab", ip("fe80::00ab%eth0").ID)
	require.Equal(t, "", NewIPIdentity(netip.Addr{}).Addr().Zone())
}

func TestNetworks(t *testing.T) {
	for text, valid := range map[string]bool{
		"127.0.0.1": true, "10.0.0.0/8": true, "0.0.0.0/0": true, "1.2.3.4/32": true, "010.0.0.1": true,
		"1.2.3.4/33": false, "1.2.3.4/-1": false, "1.2.3.4/": false, "1.2.3.4/x": false, "1.2.3": false,
		"1.2.3.4.5": false, "1.2.3.256": false, "1.2.3.": false, "": false, "/8": false, "1.2.3.a": false,
		"localhost": false, "1.2.3.4/8/8": false, "99999999999999999999.0.0.0": false,
		"::": true, "::1": true, "1::": true, "fe80::/10": true, "2001:db8::1:0/128": true,
		"1:2:3:4:5:6:7:8": true, "1:2:3:4:5:6:7": false, "1:2:3:4:5:6:7:8:9": false, "1::2::3": false,
		"1:2:3:4:5:6:7::": true, "1:2:3:4:5:6:7:8::": false, "::1/129": false, ":": false, ":::": false,
		"12345::": false, "g::": false, ":1": false, "1:": false, "FE80::AB": true,
	} {
		_, ok := parseNetwork([]byte(text))
		require.Equal(t, valid, ok, "%q", text)
	}
	for _, c := range []struct {
		network, addr string
		in            bool
	}{
		{"10.0.0.0/8", "10.255.1.2", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.1.2.3/8", "10.9.9.9", true}, // bits behind the mask do not matter
		{"10.0.0.0/9", "10.127.0.0", true},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"0.0.0.0/0", "1.2.3.4", true},
		{"0.0.0.0/0", "::1", false},
		{"::/0", "1.2.3.4", false},
		{"::/0", "fe80::1", true},
		{"fe80::/10", "febf::1", true},
		{"fe80::/10", "fec0::1", false},
		{"::1", "::1", true},
		{"0:0:0:0:0:0:0:1", "::1", true},
		{"127.0.0.1", "::ffff:127.0.0.1", true},
	} {
		n, ok := parseNetwork([]byte(c.network))
		require.True(t, ok)
		id := ip(c.addr)
		require.Equal(t, c.in, n.contains(id.Addr()), "%s in %s", c.addr, c.network)
	}
}

// The parser accepts what netip accepts, with the same meaning (IPv4 inside IPv6 and zones aside).
func FuzzNetwork(f *testing.F) {
	f.Add("10.0.0.0/8")
	f.Add("fe80::1:0/64")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseNetwork([]byte(text))
		if ok {
			require.LessOrEqual(t, n.bits, n.size*8)
		}
		want, err := netip.ParseAddr(text)
		if err != nil || want.Zone() != "" || want.Is6() && containsByte(text, '.') {
			return
		}
		require.True(t, ok, text)
		id := Identity{addr: want}
		require.True(t, n.contains(id.addr))
	})
}

func containsByte(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

func TestKerberosNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"joe": true, "": true, "a/b/c": true, "a@R": true, "a/h@R": true, "@R": true, "a@": true,
		"a@b@c": false, "a/b/c@R": false, "a@R/x": false,
	} {
		require.Equal(t, valid, validKerberosName([]byte(name)), "%q", name)
	}
}

func TestDistinguishedNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"": true, "CN=a": true, "CN=a, O=b": true, "CN=a+OU=b;C=DE": true, "2.5.4.3=x": true, `CN="a,b"`: true,
		`CN=a\,b`: true, "CN=": true, "CN": false, "=a": false, "CN=a,": false, ",": false, `CN="a`: false,
		`CN=a\`: false, "C N=a": false,
	} {
		require.Equal(t, valid, validDistinguishedName([]byte(name)), "%q", name)
	}
}

func ip(text string) Identity { return NewIPIdentity(netip.MustParseAddr(text)) }
