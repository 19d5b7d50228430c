package kerberos

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Principal is the name of a user or a service, as in zookeeper/zk1.example.com@EXAMPLE.COM.
type Principal struct {
	// Components are the parts before the realm: one for a user, service and host for a service.
	Components []string
	// Realm may be empty in names that are written down; then the context says it.
	Realm string
}

// componentsMax and nameMax bound a name: the number of its components, and its length in bytes.
const (
	componentsMax = 8
	nameMax       = 1024
)

var errName = errors.New("kerberos: not a principal, which has the form user@REALM or service/host@REALM")

// ParsePrincipal reads a name in its usual form. The realm may be missing.
func ParsePrincipal(text string) (Principal, error) {
	name, realm, hasRealm := strings.Cut(text, "@")
	p := Principal{Components: strings.Split(name, "/"), Realm: realm}
	if hasRealm && realm == "" || len(text) > nameMax || !p.isPlain() {
		return Principal{}, errName
	}
	return p, nil
}

// isPlain reports whether the text of the name can be told from that of all other names. Kerberos allows any
// characters in a component, which would be written with a backslash; no such name gets an identity.
func (p Principal) isPlain() bool {
	if len(p.Components) == 0 || len(p.Components) > componentsMax || len(p.String()) > nameMax {
		return false
	}
	for _, part := range append(slices.Clone(p.Components), p.Realm) {
		if strings.ContainsFunc(part,
			func(r rune) bool { return r <= ' ' || r == '/' || r == '@' || r == '\\' || r == 0x7f }) {
			return false
		}
	}
	return !slices.Contains(p.Components, "")
}

// String returns the usual form.
func (p Principal) String() string {
	name := strings.Join(p.Components, "/")
	if p.Realm == "" {
		return name
	}
	return name + "@" + p.Realm
}

// Equal reports whether both are the same name of the same realm.
func (p Principal) Equal(q Principal) bool {
	return p.Realm == q.Realm && slices.Equal(p.Components, q.Components)
}

// Host returns the second of two components, which names the host of a service; "" if the name has another form.
func (p Principal) Host() string {
	if len(p.Components) != 2 {
		return ""
	}
	return p.Components[1]
}

// hostPlaceholder stands for the name of a host in principals that are written down.
const hostPlaceholder = "_HOST"

// At returns the principal with host, in lower case, in place of _HOST.
func (p Principal) At(host string) Principal {
	if p.Host() != hostPlaceholder {
		return p
	}
	return Principal{Components: []string{p.Components[0], strings.ToLower(strings.TrimSuffix(host, "."))},
		Realm: p.Realm}
}

// In returns the principal with a realm, if it has none.
func (p Principal) In(realm string) Principal {
	p.Realm = cmp.Or(p.Realm, realm)
	return p
}

// wire returns the name as messages have it.
func (p Principal) wire() types.PrincipalName {
	kind := int32(nametype.KRB_NT_PRINCIPAL)
	if len(p.Components) > 1 {
		kind = nametype.KRB_NT_SRV_INST
	}
	return types.PrincipalName{NameType: kind, NameString: p.Components}
}

// named returns a name of a message as a Principal.
func named(n types.PrincipalName, realm string) (Principal, error) {
	p := Principal{Components: n.NameString, Realm: realm}
	if realm == "" || !p.isPlain() {
		return Principal{}, fmt.Errorf("kerberos: the name of the client has characters that no identity has: %q",
			p.String())
	}
	return p, nil
}
