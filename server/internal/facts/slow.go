package facts

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/traceid"
	"github.com/seed94657493/warren/server/internal/stages"
)

// Slow is the operations that took long.
type Slow struct {
	Everything  bool            `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and traces"`
	ThresholdMs float64         `json:"thresholdMs" doc:"warren.slow.threshold; 0: none are kept"`
	Found       int             `json:"found" doc:"slow operations since the server began; the newest 256 are kept"`
	Operations  []SlowOperation `json:"operations" doc:"the newest first"`
}

// SlowOperation is one operation that took long.
type SlowOperation struct {
	Began     int64       `json:"began" doc:"when its request was read from the socket, ms since 1970"`
	Operation string      `json:"operation" doc:"its name in the protocol"`
	Path      string      `json:"path" doc:"of the znode, of a longer one the first 256 bytes; of a multi the first"`
	Session   string      `json:"session" doc:"label as in the record Session"`
	Zxid      string      `json:"zxid" doc:"of its txn; empty if there is none"`
	Error     string      `json:"error" doc:"name of the error that it was answered with; empty if there is none"`
	Millis    float64     `json:"ms" doc:"until its reply was handed to the socket"`
	Slowest   string      `json:"slowest" doc:"name of the stage that took longest"`
	Stages    StageMillis `json:"stages" doc:"how long each stage took"`
	Trace     string      `json:"trace" doc:"id of its trace; empty without warren.trace.endpoint"`
}

// StageMillis is how long the stages of an operation took, in ms. Their sum is the whole time.
type StageMillis struct {
	Queue   float64 `json:"queue" doc:"until a turn has begun with it"`
	Prepare float64 `json:"prepare" doc:"at a leader: until log and learners had got its txn"`
	Forward float64 `json:"forward" doc:"at a learner: until its txn came from the leader"`
	Sync    float64 `json:"sync" doc:"until the log of this server had the txn"`
	Quorum  float64 `json:"quorum" doc:"until a quorum had it"`
	Apply   float64 `json:"apply" doc:"until it was applied; of a read its execution"`
	Socket  float64 `json:"socket" doc:"until the reply was handed to the socket"`
}

// SlowOfAll is the operations that took long, at all servers.
type SlowOfAll struct {
	Everything  bool     `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and traces"`
	ThresholdMs float64  `json:"thresholdMs" doc:"warren.slow.threshold of this server; 0: it keeps none"`
	Found       int      `json:"found" doc:"slow operations since each of the servers began; the newest 256 of each are kept"`
	Operations  []SlowAt `json:"operations" doc:"the newest first"`
	Servers     []ToldBy `json:"servers" doc:"in the order of their ids"`
}

// SlowAt is a slow operation with the server of its client.
type SlowAt struct {
	Server int64 `json:"server" doc:"myid; -1 for a server that stands alone"`
	SlowOperation
}

// slowMax is how many slow operations a server tells to another.
const slowMax = 256

// Slow returns up to most of the newest slow operations, the newest first. Paths, sessions and traces are there if all
// is set.
func (f *Facts) Slow(most int, all bool) Slow { return f.slow(most, all, f.front.Label) }

// slow is Slow; label names a session.
func (f *Facts) slow(most int, all bool, label func(proto.SessionID) string) Slow {
	threshold, operations, found := f.Stages.Slow(most)
	shown := Slow{Everything: all, ThresholdMs: millis(threshold), Found: found,
		Operations: make([]SlowOperation, 0, len(operations))}
	wall := f.Clock.WallMs() - f.Clock.Now()/1e6
	for i := range operations {
		o := &operations[i]
		one := SlowOperation{Began: wall + o.Began/1e6, Operation: o.Op.String(), Millis: millis(o.Took()),
			Slowest: o.Slowest().String(), Stages: StageMillis{
				Queue: millis(o.Spent[stages.Queue]), Prepare: millis(o.Spent[stages.Prepare]),
				Forward: millis(o.Spent[stages.Forward]), Sync: millis(o.Spent[stages.Sync]),
				Quorum: millis(o.Spent[stages.Quorum]), Apply: millis(o.Spent[stages.Apply]),
				Socket: millis(o.Spent[stages.Socket]),
			}}
		if o.Zxid != 0 {
			one.Zxid = o.Zxid.String()
		}
		if o.Err != proto.OK {
			one.Error = o.Err.Name()
		}
		if all {
			one.Path, one.Session = o.Path, label(o.Session)
			if f.Stages.Traces() {
				id := traceid.Of(o.Session, f.front.Password(o.Session), o.Xid)
				one.Trace = hex.EncodeToString(id.Trace[:])
			}
		}
		shown.Operations = append(shown.Operations, one)
	}
	return shown
}

// millis is a time in ns in ms, to a thousandth.
func millis(ns int64) float64 { return math.Round(float64(ns)/1e3) / 1e3 }

// Slow returns up to most of the newest slow operations of all servers, as far as the actor may see them.
func (n *Shown) Slow(a Actor, most int) (*SlowOfAll, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	own := n.Facts.Slow(most, n.seesAll(a))
	all := &SlowOfAll{Everything: own.Everything, ThresholdMs: own.ThresholdMs, Operations: []SlowAt{}}
	add := func(by ToldBy, s *Slow) {
		all.Servers, all.Found = append(all.Servers, by), all.Found+s.Found
		for _, o := range s.Operations {
			all.Operations = append(all.Operations, SlowAt{by.ID, o})
		}
	}
	add(ToldBy{ID: n.ID()}, &own)
	for _, other := range askOthers[Slow](n, askSlow) {
		for i := range other.it.Operations {
			o := &other.it.Operations[i]
			if o.Session = n.labelOf(o.Session); !all.Everything {
				o.Path, o.Session, o.Trace = "", "", ""
			}
		}
		add(other.ToldBy, &other.it)
	}
	slices.SortFunc(all.Servers, func(a, b ToldBy) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(all.Operations, func(a, b SlowAt) int { return cmp.Compare(b.Began, a.Began) })
	all.Operations = all.Operations[:min(most, len(all.Operations))]
	return all, nil
}

// labelOf returns what this server calls a session of which another has told the id.
func (n *Shown) labelOf(told string) string {
	id, err := strconv.ParseUint(strings.TrimPrefix(told, "0x"), 16, 64)
	if err != nil {
		return ""
	}
	return n.front.Label(proto.SessionID(id))
}
