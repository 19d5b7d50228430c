package visible

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
)

// SlowOfAll is the operations that took long, at all servers.
type SlowOfAll struct {
	Everything  bool              `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and traces"`
	ThresholdMs float64           `json:"thresholdMs" doc:"warren.slow.threshold of this server; 0: it keeps none"`
	Found       int               `json:"found" doc:"slow operations since each of the servers began; the newest 256 of each are kept"`
	Operations  []SlowAt          `json:"operations" doc:"the newest first"`
	Servers     []ensemble.ToldBy `json:"servers" doc:"in the order of their ids"`
}

// SlowAt is a slow operation with the server of its client.
type SlowAt struct {
	Server int64 `json:"server" doc:"myid; -1 for a server that stands alone"`
	facts.SlowOperation
}

// Slow returns up to most of the newest slow operations of all servers, as far as the actor may see them.
func (n *Shown) Slow(a Actor, most int) (*SlowOfAll, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	own := n.Facts.Slow(most, n.seesAll(a))
	all := &SlowOfAll{Everything: own.Everything, ThresholdMs: own.ThresholdMs, Operations: []SlowAt{}}
	add := func(by ensemble.ToldBy, s *facts.Slow) {
		all.Servers, all.Found = append(all.Servers, by), all.Found+s.Found
		for _, o := range s.Operations {
			all.Operations = append(all.Operations, SlowAt{by.ID, o})
		}
	}
	add(ensemble.ToldBy{ID: n.ID()}, &own)
	for _, other := range n.SlowOfOthers() {
		for i := range other.It.Operations {
			o := &other.It.Operations[i]
			if o.Session = n.labelOf(o.Session); !all.Everything {
				o.Path, o.Session, o.Trace = "", "", ""
			}
		}
		add(other.ToldBy, &other.It)
	}
	slices.SortFunc(all.Servers, func(a, b ensemble.ToldBy) int { return cmp.Compare(a.ID, b.ID) })
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
