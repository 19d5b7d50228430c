package zk

import (
	"crypto/sha1"
	"encoding/base64"

	"github.com/seed94657493/warren/client"
)

// Stat is the metadata of a znode. Times are in milliseconds since 1970.
type Stat struct {
	Czxid          int64 // zxid of the creation
	Mzxid          int64 // zxid of the last change of the data
	Ctime          int64 // time of the creation
	Mtime          int64 // time of the last change of the data
	Version        int32 // changes of the data
	Cversion       int32 // changes of the list of children
	Aversion       int32 // changes of the ACL
	EphemeralOwner int64 // session that an ephemeral belongs to, 0 for others
	DataLength     int32 // bytes
	NumChildren    int32
	Pzxid          int64 // zxid of the last change of the list of children
}

func statOf(s *client.Stat) *Stat {
	return &Stat{Czxid: int64(s.Czxid), Mzxid: int64(s.Mzxid), Ctime: s.Ctime, Mtime: s.Mtime, Version: s.Version,
		Cversion: s.Cversion, Aversion: s.Aversion, EphemeralOwner: int64(s.EphemeralOwner), DataLength: s.DataLength,
		NumChildren: s.NumChildren, Pzxid: int64(s.Pzxid)}
}

// ACL grants permissions to an identity.
type ACL = client.ACL

// Permission bits of an ACL.
const (
	PermRead = 1 << iota
	PermWrite
	PermCreate
	PermDelete
	PermAdmin
	PermAll = PermRead | PermWrite | PermCreate | PermDelete | PermAdmin
)

// WorldACL grants perms to every client.
func WorldACL(perms int32) []ACL { return []ACL{{Perms: perms, Scheme: "world", ID: "anyone"}} }

// AuthACL grants perms to the identities of the connection that uses it.
func AuthACL(perms int32) []ACL { return []ACL{{Perms: perms, Scheme: "auth"}} }

// DigestACL grants perms to a user with a password.
func DigestACL(perms int32, user, password string) []ACL {
	sum := sha1.Sum([]byte(user + ":" + password))
	return []ACL{{Perms: perms, Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}}
}
