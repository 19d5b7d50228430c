package facts

import (
	"encoding/hex"
	"math"

	"github.com/seed94657493/warren/internal/answers"
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
	Began     int64               `json:"began" doc:"when its request was read from the socket, ms since 1970"`
	Operation string              `json:"operation" doc:"its name in the protocol"`
	Path      string              `json:"path" doc:"of the znode, of a longer one the first 256 bytes; of a multi the first"`
	Session   string              `json:"session" doc:"label as in the record Session"`
	Zxid      string              `json:"zxid" doc:"of its txn; empty if there is none"`
	Error     string              `json:"error" doc:"name of the error that it was answered with; empty if there is none"`
	Millis    float64             `json:"ms" doc:"until its reply was handed to the socket"`
	Slowest   string              `json:"slowest" doc:"name of the stage that took longest"`
	Stages    answers.StageMillis `json:"stages" doc:"how long each stage took"`
	Trace     string              `json:"trace" doc:"id of its trace; empty without warren.trace.endpoint"`
}

// SlowMax is how many slow operations a server tells to another.
const SlowMax = 256

// Slow returns up to most of the newest slow operations, the newest first. Paths, sessions and traces are there if all
// is set.
func (f *Facts) Slow(most int, all bool) Slow { return f.SlowLabelled(most, all, f.front.Label) }

// SlowLabelled is Slow; label names a session.
func (f *Facts) SlowLabelled(most int, all bool, label func(proto.SessionID) string) Slow {
	threshold, operations, found := f.Stages.Slow(most)
	shown := Slow{Everything: all, ThresholdMs: millis(threshold), Found: found,
		Operations: make([]SlowOperation, 0, len(operations))}
	wall := f.Clock.WallMs() - f.Clock.Now()/1e6
	for i := range operations {
		o := &operations[i]
		one := SlowOperation{Began: wall + o.Began/1e6, Operation: o.Op.String(), Millis: millis(o.Took()),
			Slowest: o.Slowest().String(), Stages: answers.StageMillis{
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
