package doctor

// ZabState is what a Warren server says at its admin port, also while it serves no client: of its history, and of the
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

// remedyOutside is what to do about a server with another history.
const remedyOutside = "find out where its directory comes from, with warren doctor and the directories of all " +
	"servers; if what the ensemble has is right, stop this server, run warren adopt on its directory, and start it"

// histories tells of servers that stay outside, and of members whose histories differ.
func (c *ensembleCheck) histories() {
	outside := map[int64]bool{}
	for _, a := range c.all {
		if a.zab == nil || !a.zab.Outside {
			continue
		}
		outside[a.zab.ID] = true
		theirs := ""
		if a.zab.Theirs != "" {
			theirs = "; the leader has: " + a.zab.Theirs
		}
		const what = "server %d stays outside the ensemble that server %d leads: %s; it has: %s%s"
		c.add(Critical, "outside", a.address, remedyOutside, what,
			a.zab.ID, a.zab.Leader, a.zab.Reason, a.zab.Own, theirs)
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
			const what = "server %d says that server %d has another history: %s; that server has: %s"
			c.add(Error, "other-history", a.address, remedyOutside, what, a.zab.ID, s.ID, s.Reason, s.History)
		}
	}
}

// stuck tells that no leader can be elected because too many databases are missing. It reports whether that is so.
func (c *ensembleCheck) stuck() bool {
	for _, a := range c.all {
		if a.zab != nil && a.zab.Stuck {
			c.add(Critical, "databases-missing", a.address, a.zab.WayOut, "%s", a.zab.WaitsFor)
			return true // the others say the same
		}
	}
	return false
}
