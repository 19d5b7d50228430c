package visible

import (
	"strings"

	"github.com/seed94657493/warren/datatree/quota"
)

// Limits are those of a quota; -1 stands for none.
type Limits struct {
	Count     int64 `json:"count" doc:"znodes, the one with the quota included; more are logged"`
	Bytes     int64 `json:"bytes" doc:"of data; more are logged"`
	CountHard int64 `json:"countHard" doc:"znodes; more are refused if enforceQuota is set"`
	BytesHard int64 `json:"bytesHard" doc:"of data; more are refused if enforceQuota is set"`
}

// Quota is the quota of a znode.
type Quota struct {
	Limits    Limits `json:"limits" doc:"all -1 without a quota"`
	UsedCount int64  `json:"usedCount" doc:"znodes; -1 without a quota"`
	UsedBytes int64  `json:"usedBytes" doc:"of data; -1 without a quota"`
	Enforced  bool   `json:"enforced" doc:"this server enforces hard limits"`
}

// Quota returns the quota of a znode, and what is used of it.
func (n *Shown) Quota(a Actor, path string) (*Quota, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	if _, err := n.Readable(path, a.IDs); err != nil {
		return nil, err
	}
	limits, used := quota.None(), quota.None()
	at := quota.Root + strings.TrimSuffix(path, "/") + "/"
	if id := state.Lookup([]byte(at + quota.LimitsName)); id != 0 && n.MayRead(id, a.IDs) {
		limits = quota.Parse(state.Data(id))
		if id := state.Lookup([]byte(at + quota.StatsName)); id != 0 {
			used = quota.Parse(state.Data(id))
		}
	}
	return &Quota{Limits: Limits(limits), UsedCount: used.Count, UsedBytes: used.Bytes,
		Enforced: n.Config.EnforceQuota}, nil
}
