package doctor

import "github.com/seed94657493/warren/internal/findings"

// ZabState is what a Warren server says at its admin port, even while it serves no client: of its history, and of the
// voters if it looks for a leader.
type ZabState struct {
	ID         int64  `json:"myid"`
	ClientPort int    `json:"client_port"`
	SecurePort int    `json:"secure_client_port"`
	Outside    bool   `json:"outside"`
	Leader     int64  `json:"outside_leader"`
	Reason     string `json:"outside_reason"`
	Own        string `json:"own_history"`
	Theirs     string `json:"their_history"`
	Strangers  []struct {
		ID      int64  `json:"myid"`
		Reason  string `json:"reason"`
		History string `json:"history"`
	} `json:"strangers"`

	Voting        bool   `json:"voting"`
	Phase         string `json:"zabstate"`
	Ensemble      string `json:"ensemble"`
	LastZxid      string `json:"last_zxid"`
	AcceptedEpoch int64  `json:"accepted_epoch"`
	CurrentEpoch  int64  `json:"current_epoch"`
	Blank         bool   `json:"blank"`
	// The rest is there while the server looks for a leader.
	WaitsFor string `json:"waits_for"`
	Stuck    bool   `json:"stuck"`
	WayOut   string `json:"way_out"`
}

// histories tells of servers that stay outside, and of members whose histories differ.
func (c *ensembleCheck) histories() {
	outside := map[int64]bool{}
	for _, a := range c.all {
		if a.zab == nil || !a.zab.Outside {
			continue
		}
		outside[a.zab.ID] = true
		c.take(a.address, findings.Outside(a.zab.ID, a.zab.Leader, a.zab.Reason, a.zab.Own, a.zab.Theirs))
	}
	told := map[int64]bool{}
	for _, a := range c.all {
		if a.zab == nil {
			continue
		}
		for _, s := range a.zab.Strangers {
			if outside[s.ID] || outside[a.zab.ID] || told[s.ID] {
				continue
			}
			told[s.ID] = true
			c.take(a.address, findings.OtherHistory(a.zab.ID, s.ID, s.Reason, s.History))
		}
	}
}

// stuck tells that no leader can be elected because too many databases are missing. It reports whether that is so.
func (c *ensembleCheck) stuck() bool {
	for _, a := range c.all {
		if a.zab != nil && a.zab.Stuck {
			c.take(a.address, findings.Stuck(a.zab.WaitsFor, a.zab.WayOut))
			return true // the others say the same
		}
	}
	return false
}
