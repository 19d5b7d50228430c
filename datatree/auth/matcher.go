package auth

import "github.com/seed94657493/warren/proto"

// Matcher judges the entries of an ACL for the identities of a connection. A client may have a thousand of them, and
// make an ACL of ten thousand entries: to compare each with each takes a tenth of a second, in which the caller holds
// locks that everybody needs. So many identities are looked up by their names.
type Matcher struct {
	ids   []Identity // to be compared one by one
	named map[name]struct{}
}

// name is the scheme and the id of an identity.
type name struct{ scheme, id string }

// fewEntries is how many entries, and how many identities, are not worth a table.
const fewEntries = 16

// MatcherOf returns a Matcher for an ACL with so many entries. It does not allocate if they, or ids, are few.
func MatcherOf(ids []Identity, entries int) Matcher {
	if len(ids) <= fewEntries || entries <= fewEntries {
		return Matcher{ids: ids}
	}
	m := Matcher{named: make(map[name]struct{}, len(ids))}
	for i := range ids {
		id := &ids[i]
		if id.Scheme == SchemeIP || id.matchAll || id.also != "" { // its name does not decide
			m.ids = append(m.ids, *id)
		} else {
			m.named[name{id.Scheme, id.ID}] = struct{}{}
		}
	}
	return m
}

// Allows is EntryAllows for the identities of m.
func (m *Matcher) Allows(e *proto.ACL, wanted int32) bool {
	if m.named != nil && e.Perms&wanted != 0 {
		if _, ok := m.named[name{string(e.Id.Scheme), string(e.Id.Id)}]; ok {
			return true
		}
	}
	return EntryAllows(e, wanted, m.ids)
}
