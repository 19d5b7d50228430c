package words

import (
	"math"
	"net/netip"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/topk"
)

// Top implements admin.Node.
func (n AdminNode) Top(by string, most int, all bool) admin.Top {
	return n.top(by, most, all, proto.SessionID.String)
}

// Top implements api.Server.
func (n shown) Top(a api.Actor, by string, most int) (*api.Top, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	all := len(a.IDs) > 0 && n.ownsRoot(a.IDs)
	t := n.top(by, most, all, n.front.Label)
	list := func(entries []admin.TopEntry) []api.TopEntry {
		shown := make([]api.TopEntry, 0, len(entries))
		for _, e := range entries {
			shown = append(shown, api.TopEntry(e))
		}
		return shown
	}
	return &api.Top{Enabled: t.Enabled, Everything: all, By: t.By, WindowSeconds: t.WindowSeconds, OneIn: t.OneIn,
		Total: api.TopSums(t.Total), Operations: list(t.Operations), Paths: list(t.Paths), Sessions: list(t.Sessions),
		Addresses: list(t.Addresses)}, nil
}

// top returns what causes most of the work. Paths, sessions and addresses are there if all is set. label names a
// session.
func (s *Reporter) top(by string, most int, all bool, label func(proto.SessionID) string) admin.Top {
	t := admin.Top{By: by, WindowSeconds: int(topk.Window.Seconds()), Operations: []admin.TopEntry{}}
	if s.front.Top == nil {
		return t
	}
	v := s.front.Top.View(s.Clock.Now(), topk.By(by), most)
	t.Enabled, t.OneIn, t.Total = true, v.OneIn, sumsOf(v.Total)
	t.Operations = topList(v.Operations, proto.OpCode.String)
	if all {
		t.Paths = topList(v.Paths, func(path string) string { return path })
		t.Sessions = topList(v.Sessions, label)
		t.Addresses = topList(v.Addresses, func(address netip.Addr) string { return address.String() })
	}
	return t
}

func topList[K any](entries []topk.Entry[K], name func(K) string) []admin.TopEntry {
	list := make([]admin.TopEntry, 0, len(entries))
	for _, e := range entries {
		sums := sumsOf(e.Sums)
		list = append(list, admin.TopEntry{Key: name(e.Key), Requests: sums.Requests, Bytes: sums.Bytes,
			Millis: sums.Millis})
	}
	return list
}

// sumsOf rounds to a hundredth.
func sumsOf(s topk.Sums) admin.TopSums {
	round := func(f float64) float64 { return math.Round(f*100) / 100 }
	return admin.TopSums{Requests: round(s.Requests), Bytes: round(s.Bytes), Millis: round(s.Millis)}
}
