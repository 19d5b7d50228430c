package facts

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"

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

// TopOfAll is what causes most of the requests, bytes and time of all servers together: of what several have among
// theirs, the sum.
type TopOfAll struct {
	Top
	Servers []TopServer `json:"servers" doc:"in the order of their ids"`
}

// TopServer is what causes most of the work of one server.
type TopServer struct {
	ToldBy
	Top *Top `json:"top" doc:"null if it has not told"`
}

// topMax is how many keys of each kind a server tells to another.
const topMax = 100

// top is Top; label names a session.
func (f *Facts) top(by string, most int, all bool, label func(proto.SessionID) string) Top {
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
	return f.top(by, most, all, proto.SessionID.String)
}

// Top returns what causes most of the work of all servers, as far as the actor may see it. Sessions have labels.
func (n *Shown) Top(a Actor, by string, most int) (*TopOfAll, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	own := n.top(by, topMax, n.seesAll(a), n.front.Label)
	all := &TopOfAll{Top: Top{Everything: own.Everything, By: by, WindowSeconds: own.WindowSeconds},
		Servers: []TopServer{{ToldBy{ID: n.ID()}, &own}}}
	for _, other := range askOthers[Top](n, askTop+by) {
		one := TopServer{ToldBy: other.ToldBy}
		if other.Trouble == "" {
			one.Top = &other.it
			one.Top.Everything = own.Everything
			for i := range one.Top.Sessions {
				one.Top.Sessions[i].Key = n.labelOf(one.Top.Sessions[i].Key)
			}
		}
		all.Servers = append(all.Servers, one)
	}
	slices.SortFunc(all.Servers, func(a, b TopServer) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range all.Servers {
		if t := s.Top; t != nil {
			if !own.Everything {
				t.Paths, t.Sessions, t.Addresses = nil, nil, nil
			}
			all.Enabled, all.OneIn = all.Enabled || t.Enabled, max(all.OneIn, t.OneIn)
			all.Total = TopSums{all.Total.Requests + t.Total.Requests, all.Total.Bytes + t.Total.Bytes,
				all.Total.Millis + t.Total.Millis}
		}
	}
	for _, list := range topLists {
		sums := map[string]TopEntry{}
		for _, s := range all.Servers {
			if s.Top == nil {
				continue
			}
			of := list(s.Top)
			for _, e := range *of {
				sum := sums[e.Key]
				sums[e.Key] = TopEntry{e.Key, sum.Requests + e.Requests, sum.Bytes + e.Bytes, sum.Millis + e.Millis}
			}
			*of = append([]TopEntry{}, (*of)[:min(most, len(*of))]...)
		}
		*list(&all.Top) = topOf(sums, by, most)
	}
	return all, nil
}

// topLists are the lists of Top.
var topLists = []func(*Top) *[]TopEntry{
	func(t *Top) *[]TopEntry { return &t.Operations },
	func(t *Top) *[]TopEntry { return &t.Paths },
	func(t *Top) *[]TopEntry { return &t.Sessions },
	func(t *Top) *[]TopEntry { return &t.Addresses },
}

// topOf returns the first of the sums by requests, bytes or time.
func topOf(sums map[string]TopEntry, by string, most int) []TopEntry {
	rank := func(e TopEntry) float64 {
		switch topk.By(by) {
		case topk.ByBytes:
			return e.Bytes
		case topk.ByTime:
			return e.Millis
		}
		return e.Requests
	}
	all := slices.SortedFunc(maps.Values(sums), func(a, b TopEntry) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Key, b.Key))
	})
	return append([]TopEntry{}, all[:min(most, len(all))]...)
}
