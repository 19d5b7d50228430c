package visible

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
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
	all := &TopOfAll{Servers: []TopServer{{ensemble.ToldBy{ID: n.ID()}, &own}}}
	told := []*answers.Top{(*answers.Top)(&own)}
	for _, other := range n.TopOfOthers(by) {
		one := TopServer{ToldBy: other.ToldBy}
		if other.Trouble == "" {
			one.Top = &other.It
			one.Top.Everything = own.Everything
			for i := range one.Top.Sessions {
				one.Top.Sessions[i].Key = n.labelOf(one.Top.Sessions[i].Key)
			}
			if !own.Everything {
				one.Top.Paths, one.Top.Sessions, one.Top.Addresses = nil, nil, nil
			}
			told = append(told, (*answers.Top)(one.Top))
		}
		all.Servers = append(all.Servers, one)
	}
	slices.SortFunc(all.Servers, func(a, b TopServer) int { return cmp.Compare(a.ID, b.ID) })
	sum := answers.Top{Everything: own.Everything, By: by, WindowSeconds: own.WindowSeconds}
	sum.Add(told, most)
	for _, t := range append(told, &sum) {
		for _, list := range t.Lists() {
			*list = append([]answers.TopEntry{}, (*list)[:min(most, len(*list))]...)
		}
	}
	all.Top = facts.Top(sum)
	return all, nil
}
