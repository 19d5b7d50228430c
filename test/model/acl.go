package model

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// allows asks for the sender of the request. Source: server-semantics 9.1.
func (m *Model) allows(acl []proto.ACL, wanted int32) bool {
	return m.allowsAnyOf(acl, wanted, m.req.Identities)
}

func (m *Model) allowsAnyOf(acl []proto.ACL, wanted int32, ids []Identity) bool {
	if m.cfg.SkipACL || len(acl) == 0 {
		return true
	}
	for _, id := range ids {
		if id.Scheme == "super" {
			return true
		}
	}
	for _, e := range acl {
		if e.Perms&wanted == 0 {
			continue
		}
		scheme, who := string(e.Id.Scheme), string(e.Id.Id)
		if scheme == "world" && who == "anyone" {
			return true
		}
		for _, id := range ids {
			if id.Scheme == scheme && matches(scheme, id.ID, who) {
				return true
			}
		}
	}
	return false
}

// matches compares an identity with the id of an entry of its scheme.
func matches(scheme, identity, who string) bool {
	if scheme != "ip" {
		return identity == who
	}
	network, ok := network(who)
	addr, err := netip.ParseAddr(identity)
	return ok && err == nil && network.Contains(addr)
}

// network decodes the id of scheme ip: an address, or an address and a number of bits. The numbers
// of an IPv4 address may have zeros in front, which netip refuses.
func network(text string) (netip.Prefix, bool) {
	address, bits, hasBits := strings.Cut(text, "/")
	octets := strings.Split(address, ".")
	for i, octet := range octets {
		if strings.Trim(octet, "0123456789") == "" && octet != "" {
			octets[i] = strings.TrimLeft(octet[:len(octet)-1], "0") + octet[len(octet)-1:]
		}
	}
	addr, err := netip.ParseAddr(strings.Join(octets, "."))
	if err != nil {
		return netip.Prefix{}, false
	}
	if !hasBits {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	n, err := strconv.ParseUint(bits, 10, 8)
	p := netip.PrefixFrom(addr, int(n))
	return p, err == nil && p.IsValid()
}

// fixACL makes of a request's list what is stored. Source: server-semantics 9.4,
// client-protocol 10.5. Only the schemes of an unconfigured server are known.
func (m *Model) fixACL(requested []proto.ACL) (fixed []proto.ACL, ok bool) {
	var seen []string
	for _, e := range requested {
		encoded := string(e.AppendTo(nil))
		if slices.Contains(seen, encoded) {
			continue
		}
		seen = append(seen, encoded)
		scheme, id := string(e.Id.Scheme), string(e.Id.Id)
		switch {
		case e.Id.Scheme == nil:
			return nil, false
		case scheme == "auth":
			expanded := false
			for _, me := range m.req.Identities {
				if me.Scheme == "digest" || me.Scheme == "sasl" || me.Scheme == "x509" {
					fixed = append(fixed, entry(e.Perms, me.Scheme, me.ID))
					expanded = true
				}
			}
			if !expanded {
				return nil, false
			}
		case e.Id.Id == nil:
			return nil, false
		case scheme == "world" && id == "anyone", scheme == "digest" && validDigest(id):
			fixed = append(fixed, entry(e.Perms, scheme, id))
		case scheme == "ip":
			if _, ok := network(id); !ok {
				return nil, false
			}
			fixed = append(fixed, entry(e.Perms, scheme, id))
		default:
			return nil, false
		}
	}
	return fixed, len(fixed) > 0
}

// validDigest accepts two parts with a colon between them of which the second is not empty.
// Empty parts at the end do not count. Source: client-protocol 10.4.
func validDigest(id string) bool {
	parts := strings.Split(id, ":")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return len(parts) == 2
}
