package auth

import "bytes"

// Providers is the set of schemes whose ids an ACL may name, besides world.
type Providers uint8

// The schemes that can be configured. Digest and ip are there on every ZooKeeper server, sasl and
// x509 only if they have been set up.
const (
	ProviderDigest Providers = 1 << iota
	ProviderIP
	ProviderSASL
	ProviderX509
	ProviderX509Names // ids of scheme x509 may be names of another form than a subject
)

// DefaultProviders are the providers of a server without any setting.
const DefaultProviders = ProviderDigest | ProviderIP

// Accepts reports whether an ACL entry may have this scheme and id.
func (p Providers) Accepts(scheme, id []byte) bool {
	switch string(scheme) {
	case SchemeDigest:
		return p&ProviderDigest != 0 && validDigestID(id)
	case SchemeIP:
		_, ok := parseNetwork(id)
		return p&ProviderIP != 0 && ok
	case SchemeSASL:
		return p&ProviderSASL != 0 && validKerberosName(id)
	case SchemeX509:
		return p&ProviderX509 != 0 && (validDistinguishedName(id) || p&ProviderX509Names != 0)
	}
	return false
}

// validDigestID accepts two parts with a colon between them, the second not empty; colons at the
// end do not count.
func validDigestID(id []byte) bool {
	return bytes.Count(bytes.TrimRight(id, ":"), []byte{':'}) == 1
}

// validKerberosName accepts a name without a realm, or service, optional host and realm.
func validKerberosName(id []byte) bool {
	name, realm, hasRealm := bytes.Cut(id, []byte{'@'})
	return !hasRealm || bytes.Count(name, []byte{'/'}) <= 1 && !bytes.ContainsAny(realm, "/@")
}

// validDistinguishedName accepts the syntax of RFC 2253: attributes of the form type=value,
// separated by commas, semicolons or plus signs outside quotes. It does not know which types
// exist.
func validDistinguishedName(id []byte) bool {
	quoted, escaped := false, false
	attribute := 0
	for i, c := range id {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ';' || c == '+'):
			if !validAttribute(id[attribute:i]) {
				return false
			}
			attribute = i + 1
		}
	}
	return !quoted && !escaped && (len(id) == 0 || validAttribute(id[attribute:]))
}

// validAttribute accepts type=value, where type is a keyword or an object identifier.
func validAttribute(text []byte) bool {
	name, _, ok := bytes.Cut(text, []byte{'='})
	name = bytes.TrimSpace(name)
	if !ok || len(name) == 0 {
		return false
	}
	for _, c := range name {
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !isLetter && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}
