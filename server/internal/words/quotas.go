package words

import (
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/quota"
)

// QuotaUse is the limits and the use of all quotas below one top-level znode. Source: operations 2.3, server-semantics 8.1.
type QuotaUse struct {
	Namespace             string
	Limited               bool // it has a limits node
	Used                  bool // it has a stats node
	CountLimit, ByteLimit int64
	CountUse, ByteUse     int64
}

// quotasMax bounds how many quotas are looked at for one scrape.
const quotasMax = 10_000

// Quotas is the quotas of the tree by namespace.
func (s *Reporter) Quotas() []*QuotaUse {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	state := s.Store.State
	root := state.Lookup([]byte(quota.Root))
	if root == 0 {
		return nil
	}
	all := map[string]*QuotaUse{}
	seen := 0
	state.EachChild(root, func(top datatree.NodeID) bool {
		use := &QuotaUse{Namespace: string(state.Name(top))}
		use.gather(state, top, &seen)
		if use.Limited || use.Used {
			all[use.Namespace] = use
		}
		return seen < quotasMax
	})
	sorted := make([]*QuotaUse, 0, len(all))
	for _, use := range all {
		sorted = append(sorted, use)
	}
	slices.SortFunc(sorted, func(a, b *QuotaUse) int { return strings.Compare(a.Namespace, b.Namespace) })
	return sorted
}

// gather adds the quotas in and below a znode of the quota tree.
func (q *QuotaUse) gather(state *datatree.State, id datatree.NodeID, seen *int) {
	state.EachChild(id, func(child datatree.NodeID) bool {
		if *seen++; *seen > quotasMax {
			return false
		}
		switch name := state.Name(child); string(name) {
		case quota.LimitsName:
			count, size := quota.Parse(state.Data(child)).Effective()
			q.Limited, q.CountLimit, q.ByteLimit = true, q.CountLimit+count, q.ByteLimit+size
		case quota.StatsName:
			used := quota.Parse(state.Data(child))
			q.Used, q.CountUse, q.ByteUse = true, q.CountUse+used.Count, q.ByteUse+used.Bytes
		default:
			q.gather(state, child, seen)
		}
		return true
	})
}

func (q *QuotaUse) gauges() (all []gauge) {
	if q.Limited {
		all = append(all,
			gauge{"quota_count_limit_per_namespace", float64(q.CountLimit), false, "Znodes that quotas allow, by the first element of the path."},
			gauge{"quota_bytes_limit_per_namespace", float64(q.ByteLimit), false, "Bytes that quotas allow, by the first element of the path."})
	}
	if q.Used {
		all = append(all,
			gauge{"quota_count_usage_per_namespace", float64(q.CountUse), false, "Znodes under quotas, by the first element of the path."},
			gauge{"quota_bytes_usage_per_namespace", float64(q.ByteUse), false, "Bytes under quotas, by the first element of the path."})
	}
	return all
}
