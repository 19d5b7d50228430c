package facts

import (
	"math"
	"net/netip"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Top is what causes most of the requests, bytes and time of this server.
type Top struct {
	Enabled       bool       `json:"enabled" doc:"by warren.top.enabled"`
	Everything    bool       `json:"everything" doc:"the visitor has the permissions for a snapshot, and sees paths, sessions and addresses"`
	By            string     `json:"by" doc:"the order: requests, bytes or time"`
	WindowSeconds int        `json:"windowSeconds" doc:"requests count less by the factor e in each window"`
	OneIn         int64      `json:"oneIn" doc:"one request of so many is recorded, and counts for all"`
	Total         TopSums    `json:"total" doc:"of all requests"`
	Operations    []TopEntry `json:"operations" doc:"names of operations"`
	Paths         []TopEntry `json:"paths" doc:"paths of znodes; of longer ones the first 512 bytes"`
	Sessions      []TopEntry `json:"sessions" doc:"labels as in the record Session"`
	Addresses     []TopEntry `json:"addresses" doc:"of clients, without port"`
}

// TopSums is what requests cost in each second.
type TopSums struct {
	Requests float64 `json:"requests" doc:"a second"`
	Bytes    float64 `json:"bytes" doc:"a second, of requests and replies"`
	Millis   float64 `json:"ms" doc:"a second: of reads their execution, of writes from their arrival until they are applied"`
}

// TopEntry is a key with what its requests cost in each second, as TopSums.
type TopEntry struct {
	Key      string  `json:"key" doc:"what the requests have in common"`
	Requests float64 `json:"requests" doc:"a second"`
	Bytes    float64 `json:"bytes" doc:"a second, of requests and replies"`
	Millis   float64 `json:"ms" doc:"a second"`
}

// TopMax is how many keys of each kind a server tells to another.
const TopMax = 100

// TopLabelled is Top; label names a session.
func (f *Facts) TopLabelled(by string, most int, all bool, label func(proto.SessionID) string) Top {
	t := Top{By: by, Everything: all, WindowSeconds: int(topk.Window.Seconds()), Operations: []TopEntry{}}
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

func topList[K any](entries []topk.Entry[K], name func(K) string) []TopEntry {
	list := make([]TopEntry, 0, len(entries))
	for _, e := range entries {
		sums := sumsOf(e.Sums)
		list = append(list, TopEntry{Key: name(e.Key), Requests: sums.Requests, Bytes: sums.Bytes,
			Millis: sums.Millis})
	}
	return list
}

// sumsOf rounds to a hundredth.
func sumsOf(s topk.Sums) TopSums {
	round := func(f float64) float64 { return math.Round(f*100) / 100 }
	return TopSums{Requests: round(s.Requests), Bytes: round(s.Bytes), Millis: round(s.Millis)}
}

// Top returns what causes most of the work: the first most keys of each kind by requests, bytes or time. Paths,
// sessions and addresses are nil unless all is set.
func (f *Facts) Top(by string, most int, all bool) Top {
	return f.TopLabelled(by, most, all, proto.SessionID.String)
}
