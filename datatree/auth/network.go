package auth

import (
	"bytes"
	"net/netip"
)

// network is the id of an ACL entry of scheme ip: an address of 4 or 16 bytes and how many of its
// leading bits count. It is parsed at every check, from bytes and without allocation.
type network struct {
	addr [16]byte
	size int // bytes of the address
	bits int
}

// parseNetwork parses addr or addr/bits. An IPv4 address is a dotted quad, an IPv6 address has
// eight groups or one "::". Unlike netip it takes zeros in front of an octet, as ZooKeeper does.
// Source: client-protocol 10.4.
func parseNetwork(text []byte) (n network, ok bool) {
	addr, bits, hasBits := bytes.Cut(text, []byte{'/'})
	if bytes.IndexByte(addr, ':') >= 0 {
		n.size = 16
		ok = parseIPv6(&n.addr, addr)
	} else {
		n.size = 4
		ok = parseIPv4(&n.addr, addr)
	}
	n.bits = n.size * 8
	if !ok || !hasBits {
		return n, ok
	}
	n.bits, ok = parseDigits(bits, 10, n.bits)
	return n, ok
}

// contains reports whether addr, which is not an IPv4-mapped IPv6 address, is of the same family and
// in the network.
func (n *network) contains(addr netip.Addr) bool {
	if addr.BitLen() != n.size*8 {
		return false
	}
	var raw [16]byte
	if n.size == 4 {
		four := addr.As4()
		copy(raw[:], four[:])
	} else {
		raw = addr.As16()
	}
	whole := n.bits / 8
	if !bytes.Equal(raw[:whole], n.addr[:whole]) {
		return false
	}
	rest := n.bits % 8
	return rest == 0 || (raw[whole]^n.addr[whole])>>(8-rest) == 0
}

func parseIPv4(addr *[16]byte, text []byte) bool {
	for i := range 4 {
		octet, rest, more := bytes.Cut(text, []byte{'.'})
		if more != (i < 3) {
			return false
		}
		value, ok := parseDigits(octet, 10, 255)
		if !ok {
			return false
		}
		addr[i] = byte(value)
		text = rest
	}
	return true
}

func parseIPv6(addr *[16]byte, text []byte) bool {
	head, tail, compressed := bytes.Cut(text, []byte("::"))
	if !compressed {
		n, ok := parseGroups(addr, head)
		return ok && n == 8
	}
	var high, low [16]byte
	n, ok := parseGroups(&high, head)
	if !ok {
		return false
	}
	m, ok := parseGroups(&low, tail)
	if !ok || n+m > 7 {
		return false
	}
	copy(addr[:2*n], high[:])
	copy(addr[16-2*m:], low[:2*m])
	return true
}

// parseGroups parses up to eight hexadecimal groups, none from empty text.
func parseGroups(addr *[16]byte, text []byte) (n int, ok bool) {
	for more := len(text) > 0; more; n++ {
		var group []byte
		group, text, more = bytes.Cut(text, []byte{':'})
		value, ok := parseDigits(group, 16, 0xffff)
		if !ok || n == 8 || len(group) > 4 {
			return 0, false
		}
		addr[2*n], addr[2*n+1] = byte(value>>8), byte(value)
	}
	return n, true
}

// parseDigits parses a number from 0 to most, without a sign.
func parseDigits(text []byte, base, most int) (n int, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		digit := base
		switch {
		case c >= '0' && c <= '9':
			digit = int(c - '0')
		case c >= 'a' && c <= 'f':
			digit = int(c-'a') + 10
		case c >= 'A' && c <= 'F':
			digit = int(c-'A') + 10
		}
		if digit >= base {
			return 0, false
		}
		if n = n*base + digit; n > most {
			return 0, false
		}
	}
	return n, true
}
