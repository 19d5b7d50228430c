package api

import (
	"context"

	"github.com/seed94657493/warren/datatree/auth"
)

// Server is the server that the API shows: inside.Changes, or a fake in tests. Its methods are called by many
// goroutines at once, even while the server starts, stops or has no leader. Errors are proto.ErrCode, a Refusal, or
// errors whose text may be shown.
type Server interface {
	// Ensemble describes this server and its ensemble.
	Ensemble() *Ensemble
	// Settings returns every setting, sorted by name, secrets masked.
	Settings() []Setting
	// Login returns the identities that user and password prove. The error is ErrWrong if no ACL names them and they
	// are not the super user's, which is how a wrong password shows.
	Login(user, password string) ([]auth.Identity, error)
	// DigestID returns the id of scheme digest for a user with a password, as this server hashes it.
	DigestID(user, password string) (string, error)
	// MaySteer returns nil if the actor may give orders: with every permission on the root.
	MaySteer(a Actor) error
	// Shared notes in the audit log that the actor has made a link to a path.
	Shared(a Actor, path string)

	// Znode returns a znode with up to most bytes of its data.
	Znode(a Actor, path string, most int) (*Znode, error)
	// Children returns a page of up to limit children that follow the child named after, "" for the first page.
	Children(a Actor, path, after string, limit int) (*Children, error)
	// Search looks for znodes.
	Search(a Actor, q Query) (*Found, error)
	// Recipes looks for znodes below a path by which programs coordinate, and says what they mean. after is where an
	// earlier search has stopped.
	Recipes(a Actor, under, after string, limit int) (*Recipes, error)
	// Sizes returns what the subtrees of a znode hold, as far as it was counted. Each call counts for a moment.
	Sizes(a Actor, path string) (*Sizes, error)
	// Quota returns the quota of a znode, and what is used of it.
	Quota(a Actor, path string) (*Quota, error)
	// Sessions returns a page of up to limit sessions of this server, whose connections follow the one numbered after.
	Sessions(a Actor, after uint64, limit int) (*Sessions, error)
	// Top returns the first most keys of each kind by requests, bytes or time, as far as the actor may see them.
	Top(a Actor, by string, most int) (*Top, error)
	// Slow returns up to most of the newest slow operations, as far as the actor may see them.
	Slow(a Actor, most int) (*Slow, error)

	// What was. Past and Difference need the permissions for a snapshot, because they show all znodes of a moment, and
	// run one at a time.

	// History returns what the files of this server tell of a znode.
	History(ctx context.Context, a Actor, path string) (*History, error)
	// Past returns a znode as it was.
	Past(ctx context.Context, a Actor, at Moment, path, after string, limit int) (*Past, error)
	// Difference returns what changed between two moments; the zero Moment is the present.
	Difference(ctx context.Context, a Actor, from, to Moment, under string, limit int) (*Difference, error)

	// What visitors change.

	// Change does a change and returns the path of the znode; a sequential one has got its suffix.
	Change(ctx context.Context, a Actor, c Change) (path string, err error)
	// Follow calls yield for every change at or below path that the actor may see, until yield returns false or ctx is
	// done. It begins with a Happening without a type.
	Follow(ctx context.Context, a Actor, path string, yield func(Happening) bool) error
	// Plan says what a work would do. It changes nothing.
	Plan(a Actor, w Work) (*Plan, error)
	// Carry does a work whose plan has this seal now. The error is ErrChanged if the plan is another one.
	Carry(ctx context.Context, a Actor, w Work, seal string) (*Carried, error)
	// Export returns the znodes at and below a path.
	Export(a Actor, path string) (*Document, error)
}
