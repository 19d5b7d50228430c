package facts

import (
	"math"
	"net/netip"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Top is what causes most of the requests, bytes and time of this server.
type Top struct {
	Enabled       bool               `json:"enabled" doc:"by warren.top.enabled"`
	Everything    bool               `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and addresses"`
	By            string             `json:"by" doc:"the order: requests, bytes or time"`
	WindowSeconds int                `json:"windowSeconds" doc:"requests count less by the factor e in each window"`
	OneIn         int64              `json:"oneIn" doc:"one request of so many is recorded, and counts for all"`
	Total         answers.TopSums    `json:"total" doc:"of all requests"`
	Operations    []answers.TopEntry `json:"operations" doc:"names of operations"`
	Paths         []answers.TopEntry `json:"paths" doc:"paths of znodes; of longer ones the first 512 bytes"`
	Sessions      []answers.TopEntry `json:"sessions" doc:"labels as in the record Session"`
	Addresses     []answers.TopEntry `json:"addresses" doc:"of clients, without port"`
}

// TopMax is how many keys of each kind a server tells to another.
const TopMax = 100

// TopLabelled is Top; label names a session.
func (f *Facts) TopLabelled(by string, most int, all bool, label func(proto.SessionID) string) Top {
	t := Top{By: by, Everything: all, WindowSeconds: int(topk.Window.Seconds()), Operations: []answers.TopEntry{}}
	if f.front.Top == nil {
		return t
	}
	v := f.front.Top.View(f.Clock.Now(), topk.By(by), most)
	t.Enabled, t.OneIn, t.Total = true, v.OneIn, sumsOf(v.Total)
	t.Operations = topList(v.Operations, proto.OpCode.String)
	if all {
		t.Paths = topList(v.Paths, func(path string) string { return path })
		t.Sessions = topList(v.Sessions, label)
		t.Addresses = topList(v.Addresses, func(address netip.Addr) string { return address.String() })
	}
	return t
}

func topList[K any](entries []topk.Entry[K], name func(K) string) []answers.TopEntry {
	list := make([]answers.TopEntry, 0, len(entries))
	for _, e := range entries {
		list = append(list, answers.TopEntry{Key: name(e.Key), TopSums: sumsOf(e.Sums)})
	}
	return list
}

// sumsOf rounds to a hundredth.
func sumsOf(s topk.Sums) answers.TopSums {
	round := func(f float64) float64 { return math.Round(f*100) / 100 }
	return answers.TopSums{Requests: round(s.Requests), Bytes: round(s.Bytes), Millis: round(s.Millis)}
}

// Top returns what causes most of the work: the first most keys of each kind by requests, bytes or time. Paths,
// sessions and addresses are nil unless all is set.
func (f *Facts) Top(by string, most int, all bool) Top {
	return f.TopLabelled(by, most, all, proto.SessionID.String)
}
