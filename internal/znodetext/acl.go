// Package znodetext is how znodes are written for people and programs, on the command line and in the console alike:
// permissions as letters, ACLs, data as text or base64, and exports of subtrees. Pure.
package znodetext

import (
	"strings"

	"github.com/seed94657493/warren/proto"
)

// Letters are the permissions in the order in which ZooKeeper writes them.
const Letters = "cdrwa"

var perms = [len(Letters)]int32{proto.PermCreate, proto.PermDelete, proto.PermRead, proto.PermWrite, proto.PermAdmin}

// ACL is one entry of an ACL.
type ACL struct {
	Scheme string `json:"scheme" doc:"world, auth, digest, ip, sasl or x509"`
	ID     string `json:"id" doc:"identity within the scheme; a hash is shown to visitors with the permission admin only"`
	Perms  string `json:"perms" doc:"letters of create, delete, read, write, admin: cdrwa"`
}

// ACLs writes the entries of an ACL.
func ACLs(list []proto.ACL) []ACL {
	all := make([]ACL, len(list))
	for i, e := range list {
		all[i] = ACL{e.Id.Scheme.String(), e.Id.Id.String(), Perms(e.Perms)}
	}
	return all
}

// Perms spells permissions.
func Perms(bits int32) string { return string(AppendPerms(nil, bits)) }

// AppendPerms appends the letters of permissions.
func AppendPerms(b []byte, bits int32) []byte {
	for i, perm := range perms {
		if bits&perm != 0 {
			b = append(b, Letters[i])
		}
	}
	return b
}

// ParsePerms reads letters. bad is the first that is none.
func ParsePerms(text string) (bits int32, bad string) {
	for _, letter := range text {
		i := strings.IndexRune(Letters, letter)
		if i < 0 {
			return 0, string(letter)
		}
		bits |= perms[i]
	}
	return bits, ""
}
