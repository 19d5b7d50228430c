package api

import (
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/inside"
)

// The records of requests and answers. The tag doc is the description in openapi.json. Zxids and the ids of sessions
// are text, because numbers of JavaScript do not hold 64 bits. Times are ms since 1970.

// What a server tells of itself and of its tree, in the records of package facts.
type (
	Actor           = facts.Actor
	ACL             = facts.ACL
	Audit           = facts.Audit
	AuditEntry      = facts.AuditEntry
	BackupFolder    = facts.BackupFolder
	Backups         = facts.Backups
	Child           = facts.Child
	Children        = facts.Children
	Difference      = facts.Difference
	Ensemble        = facts.Ensemble
	Found           = facts.Found
	History         = facts.History
	Holder          = facts.Holder
	Limits          = facts.Limits
	Member          = facts.Member
	Moment          = facts.Moment
	Part            = facts.Part
	Past            = facts.Past
	PastChange      = facts.PastChange
	Problem         = facts.Problem
	Query           = facts.Query
	Quota           = facts.Quota
	Recipe          = facts.Recipe
	Recipes         = facts.Recipes
	Refusal         = facts.Refusal
	Session         = facts.Session
	SessionDetails  = facts.SessionDetails
	Sessions        = facts.Sessions
	Setting         = facts.Setting
	SizePart        = facts.SizePart
	SnapshotFile    = facts.SnapshotFile
	Sizes           = facts.Sizes
	SlowOfAll       = facts.SlowOfAll
	SlowAt          = facts.SlowAt
	SlowOperation   = facts.SlowOperation
	StageMillis     = facts.StageMillis
	Stat            = facts.Stat
	Task            = facts.Task
	TaskAnswer      = facts.TaskAnswer
	Term            = facts.Term
	Terms           = facts.Terms
	Top             = facts.Top
	TopOfAll        = facts.TopOfAll
	TopServer       = facts.TopServer
	ToldBy          = facts.ToldBy
	TopEntry        = facts.TopEntry
	TopSums         = facts.TopSums
	Version         = facts.Version
	Znode           = facts.Znode
	EnsembleChange  = facts.EnsembleChange
	Reconfiguration = facts.Reconfiguration
	ServerChange    = facts.ServerChange
	Voting          = facts.Voting
	Event           = facts.Event
	ServerState     = facts.ServerState
	Servers         = facts.Servers
	Trend           = facts.Trend
	Trends          = facts.Trends
	Watcher         = facts.Watcher
	Watchers        = facts.Watchers
)

// What visitors change, in the records of package inside.
type (
	Carried       = inside.Carried
	Change        = inside.Change
	Document      = inside.Document
	DocumentZnode = inside.DocumentZnode
	Happening     = inside.Happening
	Plan          = inside.Plan
	Reconfigured  = inside.Reconfigured
	Refused       = inside.Refused
	Work          = inside.Work
)

// The kinds of changes.
const (
	ChangeCreate = inside.ChangeCreate
	ChangeData   = inside.ChangeData
	ChangeDelete = inside.ChangeDelete
	ChangeACL    = inside.ChangeACL
)

// Errors that pages tell apart.
var (
	ErrWrong       = facts.ErrWrong
	ErrMayNotSteer = facts.ErrMayNotSteer
	ErrChanged     = inside.ErrChanged
)

// TroubleOf describes an error for the visitor.
func TroubleOf(err error) facts.Trouble { return facts.TroubleOf(err) }

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
