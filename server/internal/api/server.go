package api

import (
	"context"
	"net/netip"
	"slices"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// Actor is the sender of a request, as far as it is proved.
type Actor struct {
	IDs    []auth.Identity // none for a visitor without a login
	Remote netip.AddrPort  // for limits and the audit log
}

// MayAdmin reports whether the actor could change the permissions of a znode with this ACL.
func (a Actor) MayAdmin(acl []ACL) bool {
	return auth.IsSuper(a.IDs) || slices.ContainsFunc(acl, func(e ACL) bool {
		perms, ok := Perms(e.Perms)
		one := proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}}
		isOwn := e.Scheme == auth.SchemeAuth && len(a.IDs) > 0 // the server puts the actor's identities in its place
		return ok && perms&proto.PermAdmin != 0 && (isOwn || auth.EntryAllows(&one, proto.PermAdmin, a.IDs))
	})
}

// Server is the server that the API shows. Its methods are called by many goroutines at once, even while the server
// starts, stops or has no leader. Errors are proto.ErrCode, the errors of this package, or errors whose text may be
// shown.
type Server interface {
	Views
	Subtrees
	// Ensemble describes this server and its ensemble.
	Ensemble() *Ensemble
	// Login returns the identities that user and password prove. The error is ErrWrong if no ACL names them and they
	// are not the super user's, which is how a wrong password shows.
	Login(user, password string) ([]auth.Identity, error)
	// DigestID returns the id of scheme digest for a user with a password, as this server hashes it.
	DigestID(user, password string) (string, error)
	// Znode returns a znode with up to most bytes of its data.
	Znode(a Actor, path string, most int) (*Znode, error)
	// Children returns a page of up to limit children that follow the child named after, "" for the first page.
	Children(a Actor, path, after string, limit int) (*Children, error)
	// Search looks for znodes.
	Search(a Actor, q Query) (*Found, error)
	// Sessions returns a page of up to limit sessions of this server, whose connections follow the one numbered after.
	Sessions(a Actor, after uint64, limit int) (*Sessions, error)
	// Top returns the first most keys of each kind by requests, bytes or time, as far as the actor may see them.
	Top(a Actor, by string, most int) (*Top, error)
	// Slow returns up to most of the newest slow operations, as far as the actor may see them.
	Slow(a Actor, most int) (*Slow, error)
	// Settings returns every setting, sorted by name, secrets masked.
	Settings() []Setting
	// Change does a change and returns the path of the znode; a sequential one has got its suffix.
	Change(ctx context.Context, a Actor, c Change) (path string, err error)
	// MaySteer returns nil if the actor may give orders: with every permission on the root.
	MaySteer(a Actor) error
	// Follow calls yield for every change at or below path that the actor may see, until yield returns false or ctx is
	// done. It begins with a Happening without a type.
	Follow(ctx context.Context, a Actor, path string, yield func(Happening) bool) error
}

// Query is a search. Exactly one of Prefix and Contains is set.
type Query struct {
	Under    string // the znode below which is searched
	Prefix   string // how the name of a znode begins
	Contains string // what its path below Under contains
	After    string // where an earlier search has stopped; "" at first
	Limit    int    // of the znodes found
}

// Change is a change of one znode.
type Change struct {
	Kind       ChangeKind
	Path       string
	Data       []byte
	ACL        []ACL // of a create nil stands for the open list
	Version    int32 // that the znode must have, or its ACL for ChangeACL; -1 for any
	Sequential bool  // of a create
	Container  bool  // of a create
	TTL        int64 // of a create, ms; 0 for none
}

// ChangeKind is what a Change does.
type ChangeKind uint8

// The kinds of changes.
const (
	ChangeCreate ChangeKind = iota
	ChangeData
	ChangeDelete
	ChangeACL
)

// String names the kind for logs.
func (k ChangeKind) String() string { return [...]string{"create", "set", "delete", "setACL"}[k] }
