package server

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/quota"
)

// quotaUse is the limits and the use of all quotas below one top-level znode. Source: operations 2.3, server-semantics 8.1.
type quotaUse struct {
	namespace             string
	limited               bool // it has a limits node
	used                  bool // it has a stats node
	countLimit, byteLimit int64
	countUse, byteUse     int64
}

// quotasMax bounds how many quotas are looked at for one scrape.
const quotasMax = 10_000

// quotas is the quotas of the tree by namespace.
func (s *monitor) quotas() []*quotaUse {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	state := s.store.state
	root := state.Lookup([]byte(quota.Root))
	if root == 0 {
		return nil
	}
	all := map[string]*quotaUse{}
	seen := 0
	state.EachChild(root, func(top datatree.NodeID) bool {
		use := &quotaUse{namespace: string(state.Name(top))}
		use.gather(state, top, &seen)
		if use.limited || use.used {
			all[use.namespace] = use
		}
		return seen < quotasMax
	})
	sorted := make([]*quotaUse, 0, len(all))
	for _, use := range all {
		sorted = append(sorted, use)
	}
	slices.SortFunc(sorted, func(a, b *quotaUse) int { return strings.Compare(a.namespace, b.namespace) })
	return sorted
}

// gather adds the quotas in and below a znode of the quota tree.
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

// namespace is the first element of a path.
func namespace(path []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(path, []byte{'/'}), []byte{'/'})
	return string(first)
}

func (q *quotaUse) gauges() (all []gauge) {
	if q.limited {
		all = append(all,
			gauge{"quota_count_limit_per_namespace", float64(q.countLimit), false, "Znodes that quotas allow, by the first element of the path."},
			gauge{"quota_bytes_limit_per_namespace", float64(q.byteLimit), false, "Bytes that quotas allow, by the first element of the path."})
	}
	if q.used {
		all = append(all,
			gauge{"quota_count_usage_per_namespace", float64(q.countUse), false, "Znodes under quotas, by the first element of the path."},
			gauge{"quota_bytes_usage_per_namespace", float64(q.byteUse), false, "Bytes under quotas, by the first element of the path."})
	}
	return all
}
