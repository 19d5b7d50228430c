package visible

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/topk"
)

// TopOfAll is what causes most of the requests, bytes and time of all servers together: of what several have among
// theirs, the sum.
type TopOfAll struct {
	facts.Top
	Servers []TopServer `json:"servers" doc:"in the order of their ids"`
}

// TopServer is what causes most of the work of one server.
type TopServer struct {
	ensemble.ToldBy
	Top *facts.Top `json:"top" doc:"null if it has not told"`
}

// Top returns what causes most of the work of all servers, as far as the actor may see it. Sessions have labels.
func (n *Shown) Top(a Actor, by string, most int) (*TopOfAll, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	own := n.TopLabelled(by, facts.TopMax, n.seesAll(a), n.front.Label)
	all := &TopOfAll{Top: facts.Top{Everything: own.Everything, By: by, WindowSeconds: own.WindowSeconds},
		Servers: []TopServer{{ensemble.ToldBy{ID: n.ID()}, &own}}}
	for _, other := range n.TopOfOthers(by) {
		one := TopServer{ToldBy: other.ToldBy}
		if other.Trouble == "" {
			one.Top = &other.It
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
			all.Total = facts.TopSums{Requests: all.Total.Requests + t.Total.Requests,
				Bytes: all.Total.Bytes + t.Total.Bytes, Millis: all.Total.Millis + t.Total.Millis}
		}
	}
	for _, list := range topLists {
		sums := map[string]facts.TopEntry{}
		for _, s := range all.Servers {
			if s.Top == nil {
				continue
			}
			of := list(s.Top)
			for _, e := range *of {
				sum := sums[e.Key]
				sums[e.Key] = facts.TopEntry{Key: e.Key, Requests: sum.Requests + e.Requests,
					Bytes: sum.Bytes + e.Bytes, Millis: sum.Millis + e.Millis}
			}
			*of = append([]facts.TopEntry{}, (*of)[:min(most, len(*of))]...)
		}
		*list(&all.Top) = topOf(sums, by, most)
	}
	return all, nil
}

// topLists are the lists of Top.
var topLists = []func(*facts.Top) *[]facts.TopEntry{
	func(t *facts.Top) *[]facts.TopEntry { return &t.Operations },
	func(t *facts.Top) *[]facts.TopEntry { return &t.Paths },
	func(t *facts.Top) *[]facts.TopEntry { return &t.Sessions },
	func(t *facts.Top) *[]facts.TopEntry { return &t.Addresses },
}

// topOf returns the first of the sums by requests, bytes or time.
func topOf(sums map[string]facts.TopEntry, by string, most int) []facts.TopEntry {
	rank := func(e facts.TopEntry) float64 {
		switch topk.By(by) {
		case topk.ByBytes:
			return e.Bytes
		case topk.ByTime:
			return e.Millis
		}
		return e.Requests
	}
	all := slices.SortedFunc(maps.Values(sums), func(a, b facts.TopEntry) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Key, b.Key))
	})
	return append([]facts.TopEntry{}, all[:min(most, len(all))]...)
}
