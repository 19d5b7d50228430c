package model

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	quotaRoot  = "/zookeeper/quota"
	limitsName = "/zookeeper_limits"
	statsName  = "/zookeeper_stats"
)

// quotaOf returns the deepest path with a quota that is path or an ancestor of it. A path has a
// quota while it has a limits node; the root never has one. Source: server-semantics 8.2,
// 8.3 and 8.6.
func quotaOf(t tree, path string) (string, bool) {
	for at := path; at != "/"; at = parentOf(at) {
		if t[quotaRoot+at+limitsName] != nil {
			return at, true
		}
	}
	return "", false
}

// accountCreated accounts a new znode. The stats node of a quota is born with what the tree holds.
func (m *Model) accountCreated(path string) {
	if quota, ok := strings.CutPrefix(path, quotaRoot); ok {
		if quota, ok := strings.CutSuffix(quota, statsName); ok {
			count, bytes := 0, 0
			top := m.tree.find(quota)
			for p, n := range m.tree {
				if top != nil && (n == top || below(p, quota) || quota == "") {
					count++
					bytes += len(n.data)
				}
			}
			m.tree[path].data = stats(count, bytes)
		}
	}
	m.account(path, 1, len(m.tree[path].data))
}

// account adds a change to the stats node of the quota that path is under.
func (m *Model) account(path string, count, bytes int) {
	quota, ok := quotaOf(m.tree, path)
	n := m.tree[quotaRoot+quota+statsName]
	if !ok || n == nil || count == 0 && bytes == 0 {
		return
	}
	used := parseQuota(n.data)
	n.data = stats(used["count"]+count, used["bytes"]+bytes)
}

func stats(count, bytes int) []byte {
	return fmt.Appendf(nil, "count=%d,bytes=%d", count, bytes)
}

// parseQuota decodes a limits or stats node; what is missing or no number is -1.
func parseQuota(text []byte) map[string]int {
	q := map[string]int{"count": -1, "bytes": -1, "countHardLimit": -1, "byteHardLimit": -1}
	parts := strings.FieldsFunc(string(text), func(c rune) bool { return c == ',' || c == ';' })
	for _, part := range parts {
		fields := strings.Split(part, "=")
		q[fields[0]] = -1
		if len(fields) > 1 {
			if n, err := strconv.Atoi(fields[1]); err == nil {
				q[fields[0]] = n
			}
		}
	}
	return q
}

// overQuota reports whether a change breaks a hard limit of the quota it is under. What counts is
// the use before the request. Source: server-semantics 8.4.
func (m *Model) overQuota(path string, count, bytes int) bool {
	quota, ok := quotaOf(m.quotas, path)
	if !m.cfg.EnforceQuota || !ok {
		return false
	}
	limitsNode, statsNode := m.quotas[quotaRoot+quota+limitsName], m.quotas[quotaRoot+quota+statsName]
	if statsNode == nil {
		return false
	}
	limits, used := parseQuota(limitsNode.data), parseQuota(statsNode.data)
	over := func(used, delta, hard int) bool {
		return delta != 0 && hard > -1 && used+delta > hard
	}
	return over(used["count"], count, limits["countHardLimit"]) || over(used["bytes"], bytes, limits["byteHardLimit"])
}
