package doctor

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
