package words

import (
	"encoding/hex"
	"math"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/traceid"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/stages"
)

// Slow implements admin.Node.
func (n AdminNode) Slow(most int, all bool) admin.Slow { return n.slow(most, all) }

// Slow implements api.Server.
func (n shown) Slow(a api.Actor, most int) (*api.Slow, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	all := len(a.IDs) > 0 && n.ownsRoot(a.IDs)
	s := n.slow(most, all)
	shown := &api.Slow{Everything: all, ThresholdMs: s.ThresholdMs, Found: s.Found,
		Operations: make([]api.SlowOperation, 0, len(s.Operations))}
	for _, o := range s.Operations {
		shown.Operations = append(shown.Operations, api.SlowOperation{Began: o.Began, Operation: o.Operation,
			Path: o.Path, Session: o.Session, Zxid: o.Zxid, Error: o.Error, Millis: o.Millis, Slowest: o.Slowest,
			Stages: api.StageMillis(o.Stages), Trace: o.Trace})
	}
	return shown, nil
}

// slow returns the newest slow operations. Paths, sessions and traces are there if all is set.
func (s *Reporter) slow(most int, all bool) admin.Slow {
	threshold, operations, found := s.Stages.Slow(most)
	shown := admin.Slow{ThresholdMs: millis(threshold), Found: found,
		Operations: make([]admin.SlowOperation, 0, len(operations))}
	wall := s.Clock.WallMs() - s.Clock.Now()/1e6
	for i := range operations {
		o := &operations[i]
		one := admin.SlowOperation{Began: wall + o.Began/1e6, Operation: o.Op.String(), Millis: millis(o.Took()),
			Slowest: o.Slowest().String(), Stages: admin.StageMillis{
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
			one.Path, one.Session = o.Path, s.front.Label(o.Session)
			if s.Stages.Traces() {
				id := traceid.Of(o.Session, s.front.Password(o.Session), o.Xid)
				one.Trace = hex.EncodeToString(id.Trace[:])
			}
		}
		shown.Operations = append(shown.Operations, one)
	}
	return shown
}

// millis is a time in ns in ms, to a thousandth.
func millis(ns int64) float64 { return math.Round(float64(ns)/1e3) / 1e3 }
