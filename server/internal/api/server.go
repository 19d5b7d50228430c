package api

import (
	"context"

	"github.com/seed94657493/warren/datatree/auth"
)

// Server is the server that the API shows: inside.Changes, or a fake in tests. What it tells is documented at
// visible.Shown, what it changes at inside.Changes. Its methods are called by many goroutines at once, even while the
// server starts, stops or has no leader. Errors are proto.ErrCode, a Refusal, or errors whose text may be shown.
type Server interface {
	Ensemble() *Ensemble
	Settings() []Setting
	Servers() *Servers
	// ID is myid of this server; -1 if it stands alone.
	ID() int64
	Pass(ctx context.Context, server int64, t Task) (*TaskAnswer, error)
	Trends(from int64) *Trends
	Login(user, password string) ([]auth.Identity, error)
	DigestID(user, password string) (string, error)
	MaySteer(a Actor) error
	MaySeeAll(a Actor) error
	Shared(a Actor, path string)

	Znode(a Actor, path string, most int) (*Znode, error)
	Children(a Actor, path, after string, limit int) (*Children, error)
	Search(a Actor, q Query) (*Found, error)
	Recipes(a Actor, under, after string, limit int) (*Recipes, error)
	Sizes(a Actor, path string, since int64) (*Sizes, error)
	Watchers(a Actor, path string) (*Watchers, error)
	Quota(a Actor, path string) (*Quota, error)
	Sessions(a Actor, find string, after uint64, limit int) (*Sessions, error)
	Session(a Actor, label string) (*SessionDetails, error)
	Top(a Actor, by string, most int) (*TopOfAll, error)
	Slow(a Actor, most int) (*SlowOfAll, error)
	Audit(a Actor, most int) (*Audit, error)
	Backups(a Actor) (*Backups, error)
	VerifyBackup(a Actor, folder string, begin bool) (*Verification, error)
	Activity(a Actor, path string) (*Activity, error)
	History(ctx context.Context, a Actor, path string) (*History, error)
	Terms(ctx context.Context, a Actor, path string) (*Terms, error)
	Past(ctx context.Context, a Actor, at Moment, path, after string, limit int) (*Past, error)
	Difference(ctx context.Context, a Actor, from, to Moment, under string, limit int) (*Difference, error)

	Change(ctx context.Context, a Actor, c Change) (path string, err error)
	Follow(ctx context.Context, a Actor, path string, yield func(Happening) bool) error
	Plan(a Actor, w Work) (*Plan, error)
	Carry(ctx context.Context, a Actor, w Work, seal string) (*Carried, error)
	PlanReconfiguration(a Actor, c EnsembleChange) (*Reconfiguration, error)
	Reconfigure(ctx context.Context, a Actor, c EnsembleChange) (*Reconfigured, error)
	Export(a Actor, path string) (*Document, error)
}
