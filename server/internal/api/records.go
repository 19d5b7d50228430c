package api

import (
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/inside"
	"github.com/seed94657493/warren/server/internal/visible"
)

// The records of requests and answers. The tag doc is the description in openapi.json. Zxids and the ids of sessions
// are text, because numbers of JavaScript do not hold 64 bits. Times are ms since 1970.

// What a server tells of itself and of its tree, in the records of the packages that find it out.
type (
	Activity        = visible.Activity
	Actor           = visible.Actor
	ACL             = znodetext.ACL
	Audit           = visible.Audit
	Backups         = visible.Backups
	Child           = visible.Child
	Children        = visible.Children
	Difference      = visible.Difference
	Ensemble        = ensemble.Ensemble
	Found           = visible.Found
	History         = visible.History
	Member          = ensemble.Member
	Moment          = visible.Moment
	Past            = visible.Past
	Problem         = ensemble.Problem
	Query           = visible.Query
	Quota           = visible.Quota
	Recipes         = visible.Recipes
	Refusal         = visible.Refusal
	SessionDetails  = visible.SessionDetails
	Sessions        = visible.Sessions
	Setting         = facts.Setting
	Sizes           = visible.Sizes
	SlowOfAll       = visible.SlowOfAll
	Stat            = visible.Stat
	Task            = ensemble.Task
	TaskAnswer      = ensemble.TaskAnswer
	Terms           = visible.Terms
	TopOfAll        = visible.TopOfAll
	Verification    = visible.Verification
	Version         = visible.Version
	Znode           = visible.Znode
	EnsembleChange  = visible.EnsembleChange
	Reconfiguration = visible.Reconfiguration
	Servers         = ensemble.Servers
	Trends          = visible.Trends
	Watchers        = ensemble.Watchers
)

// What visitors change, in the records of package inside.
type (
	Carried       = inside.Carried
	Change        = inside.Change
	Document      = znodetext.Document
	DocumentZnode = znodetext.DocumentZnode
	Happening     = inside.Happening
	Plan          = inside.Plan
	Reconfigured  = inside.Reconfigured
	Work          = inside.Work
)

// Errors that pages tell apart.
var (
	ErrWrong       = visible.ErrWrong
	ErrMayNotSteer = visible.ErrMayNotSteer
)

// TroubleOf describes an error for the visitor.
func TroubleOf(err error) visible.Trouble { return visible.TroubleOf(err) }

// Configuration is every setting.
type Configuration struct {
	Settings []Setting `json:"settings" doc:"sorted by name"`
}

// Credentials are the request of login.
type Credentials struct {
	User     string `json:"user" doc:"name of scheme digest, without a colon"`
	Password string `json:"password" doc:"its password"`
}

// Identity is what a visitor is known as.
type Identity struct {
	User   string `json:"user" doc:"empty without a login"`
	Super  bool   `json:"super" doc:"ACLs do not hold for this user"`
	Token  string `json:"token" doc:"header X-Warren-Token of requests that change something; empty without a cookie"`
	Writes bool   `json:"writes" doc:"this visitor may try changes; ACLs decide"`
}

// NewZnode is the request of create.
type NewZnode struct {
	Path       string `json:"path" doc:"of the new znode"`
	Data       string `json:"data" doc:"its data"`
	Encoding   string `json:"encoding" doc:"utf-8 (also if empty) or base64"`
	ACL        []ACL  `json:"acl" doc:"null: world:anyone:cdrwa"`
	Sequential bool   `json:"sequential" doc:"a number is added to the name"`
	Container  bool   `json:"container" doc:"the server deletes it some time after its last child"`
	TTL        int64  `json:"ttl" doc:"ms without a change and without children after which the server deletes it; 0 for none"`
}

// NewData is the request that sets the data of a znode.
type NewData struct {
	Path     string `json:"path" doc:"of the znode"`
	Data     string `json:"data" doc:"new data"`
	Encoding string `json:"encoding" doc:"utf-8 (also if empty) or base64"`
	Version  *int32 `json:"version" doc:"that the znode must have; -1 for any"`
}

// NewACL is the request that sets the ACL of a znode.
type NewACL struct {
	Path      string `json:"path" doc:"of the znode"`
	ACL       []ACL  `json:"acl" doc:"new list, at least one entry"`
	Version   *int32 `json:"version" doc:"aversion that the znode must have; -1 for any"`
	KeepAdmin bool   `json:"keepAdmin" doc:"refuse what would leave this visitor without the permission admin"`
}

// Done is the answer to a change.
type Done struct {
	Path string `json:"path" doc:"of the znode"`
}
