package visible

import (
	"cmp"
	"slices"

	"github.com/seed94657493/warren/server/internal/ensemble"
)

// Watchers is for the API.
func (n *Shown) Watchers(a Actor, path string) (*ensemble.Watchers, error) {
	if _, err := n.Znode(a, path, 0); err != nil {
		return nil, err
	}
	all := n.WatchersOf(path, n.front.Label)
	for _, other := range n.WatchersOfOthers(path) {
		for _, w := range other.It.Watchers {
			w.Server, w.Session = other.ID, n.labelOf(w.Session)
			all.Watchers = append(all.Watchers, w)
		}
		all.Total += other.It.Total
		all.Servers = append(all.Servers, other.ToldBy)
	}
	slices.SortFunc(all.Servers, func(a, b ensemble.ToldBy) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
