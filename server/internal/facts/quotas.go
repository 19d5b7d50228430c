package facts

import (
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/quota"
)

// quotaUse is the sum of the limits and of the use of all quotas below one top-level znode. Source: operations 2.3,
// server-semantics 8.1.
type quotaUse struct {
	limited               bool // it has a limits node
	used                  bool // it has a stats node
	countLimit, byteLimit int64
	countUse, byteUse     int64
}

// quotasMax bounds how many znodes of the quota tree are read for one scrape.
const quotasMax = 10_000

// quotas are the gauges of the quotas of the tree, by namespace.
func (f *Facts) quotas() (all []Gauge) {
	f.Store.Mu.RLock()
	defer f.Store.Mu.RUnlock()
	state := f.Store.State
	seen := 0
	state.EachChild(state.Lookup([]byte(quota.Root)), func(top datatree.NodeID) bool {
		var use quotaUse
		use.gather(state, top, &seen)
		all = append(all, use.gauges(string(state.Name(top)))...)
		seen++ // it may have no quota
		return seen < quotasMax
	})
	slices.SortStableFunc(all, func(a, b Gauge) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}

// gather adds the quotas at and below a znode of the quota tree.
func (q *quotaUse) gather(state *datatree.State, id datatree.NodeID, seen *int) {
	state.EachChild(id, func(child datatree.NodeID) bool {
		if *seen++; *seen > quotasMax {
			return false
		}
		switch name := state.Name(child); string(name) {
		case quota.LimitsName:
			count, size := quota.Parse(state.Data(child)).Effective()
			q.limited, q.countLimit, q.byteLimit = true, q.countLimit+count, q.byteLimit+size
		case quota.StatsName:
			used := quota.Parse(state.Data(child))
			q.used, q.countUse, q.byteUse = true, q.countUse+used.Count, q.byteUse+used.Bytes
		default:
			q.gather(state, child, seen)
		}
		return true
	})
}

// gauges are those of a namespace.
func (q *quotaUse) gauges(namespace string) (all []Gauge) {
	if q.limited {
		all = append(all,
			whole("quota_count_limit_per_namespace", q.countLimit,
				"Znodes that quotas allow, by the first element of the path."),
			whole("quota_bytes_limit_per_namespace", q.byteLimit,
				"Bytes that quotas allow, by the first element of the path."))
	}
	if q.used {
		all = append(all,
			whole("quota_count_usage_per_namespace", q.countUse,
				"Znodes under quotas, by the first element of the path."),
			whole("quota_bytes_usage_per_namespace", q.byteUse,
				"Bytes under quotas, by the first element of the path."))
	}
	for i := range all {
		all[i].Namespace = namespace
	}
	return all
}
