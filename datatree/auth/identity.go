package auth

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// The schemes of ACL entries and of identities. Source: client-protocol 10.4.
const (
	SchemeWorld  = "world"  // every connection; only with the id "anyone"
	SchemeAuth   = "auth"   // in a request: the identities that the connection has authenticated as
	SchemeDigest = "digest" // user:base64(SHA-1(user:password))
	SchemeIP     = "ip"     // an address or a network
	SchemeSASL   = "sasl"   // the authorization id of a SASL exchange
	SchemeX509   = "x509"   // the subject of a client's certificate
	SchemeSuper  = "super"  // passes every check; never valid in an ACL
)

// anyone is the only id of scheme world.
const anyone = "anyone"

// Identity is one identity that a connection has authenticated as. Identities belong to a connection, not to a
// session. The zero value matches nothing. It is immutable and may be used concurrently.
type Identity struct {
	Scheme string // one of the schemes but world and auth
	ID     string // as whoAmI shows it, and as it replaces an entry of scheme auth

	addr     netip.Addr // of scheme ip: what is matched
	also     string     // an id of an ACL entry that this identity matches, too; "" for none
	matchAll bool       // every entry of the scheme matches
}

// NewIPIdentity returns the identity of a connection from addr. An IPv4-mapped IPv6 address counts as
// IPv4; a zone is ignored. The text is ZooKeeper's: IPv6 without compression.
func NewIPIdentity(addr netip.Addr) Identity {
	addr = addr.Unmap().WithZone("")
	id := Identity{Scheme: SchemeIP, addr: addr}
	if !addr.Is6() {
		id.ID = addr.String()
		return id
	}
	var text strings.Builder
	raw := addr.As16()
	for i := 0; i < len(raw); i += 2 {
		if i > 0 {
			text.WriteByte(':')
		}
		text.WriteString(strconv.FormatUint(uint64(raw[i])<<8|uint64(raw[i+1]), 16))
	}
	id.ID = text.String()
	return id
}

// NewSASLIdentity returns the identity of a completed SASL exchange. anyUser is the id of ACL
// entries that stand for every SASL user (zookeeper.letAnySaslUserDoX), "" for none.
func NewSASLIdentity(id, anyUser string) Identity {
	return Identity{Scheme: SchemeSASL, ID: id, also: anyUser, matchAll: id == SchemeSuper}
}

// NewX509Identity returns the identity of a client certificate with the subject dn. If it is
// superUser, it matches every entry of the scheme; the server adds SuperIdentity to such a
// connection besides.
func NewX509Identity(dn, superUser string) Identity {
	return Identity{Scheme: SchemeX509, ID: dn, matchAll: superUser != "" && dn == superUser}
}

// SuperIdentity returns the identity that passes every check.
func SuperIdentity(id string) Identity { return Identity{Scheme: SchemeSuper, ID: id} }

// Addr returns the address of an identity of scheme ip, else the zero Addr.
func (i Identity) Addr() netip.Addr { return i.addr }

// ExpandsAuth reports whether an entry of scheme auth stands for this identity: having an
// address is no authentication.
func (i *Identity) ExpandsAuth() bool {
	return i.Scheme == SchemeDigest || i.Scheme == SchemeSASL || i.Scheme == SchemeX509
}

// matches reports whether an ACL entry with i's scheme and this id means i.
func (i *Identity) matches(id proto.Text) bool {
	if i.Scheme == SchemeIP {
		network, ok := parseNetwork(id)
		return ok && network.contains(i.addr)
	}
	return i.matchAll || i.ID == string(id) || i.also != "" && i.also == string(id)
}

// IsNamed reports whether id is exactly this identity: the same scheme and the same text. It does not count entries
// that also match it, such as networks.
func (i *Identity) IsNamed(id *proto.ID) bool {
	return i.Scheme == string(id.Scheme) && i.ID == string(id.Id)
}

// IsSuper reports whether ids pass every check.
func IsSuper(ids []Identity) bool {
	for i := range ids {
		if ids[i].Scheme == SchemeSuper {
			return true
		}
	}
	return false
}

// EntryAllows reports whether an ACL entry gives any of the wanted permissions to any of ids.
func EntryAllows(e *proto.ACL, wanted int32, ids []Identity) bool {
	if e.Perms&wanted == 0 {
		return false
	}
	if IsAnyone(&e.Id) {
		return true
	}
	for i := range ids {
		if ids[i].Scheme == string(e.Id.Scheme) && ids[i].matches(e.Id.Id) {
			return true
		}
	}
	return false
}

// IsAnyone reports whether id is world:anyone, which means every connection.
func IsAnyone(id *proto.ID) bool {
	return string(id.Scheme) == SchemeWorld && string(id.Id) == anyone
}
