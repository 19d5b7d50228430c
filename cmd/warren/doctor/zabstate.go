package doctor

// ZabState is what a Warren server says of its history at its admin port, even while it serves no client.
type ZabState struct {
	ID            int64  `json:"myid"`
	ClientPort    int    `json:"client_port"`
	SecurePort    int    `json:"secure_client_port"`
	Phase         string `json:"zabstate"`
	Ensemble      string `json:"ensemble"`
	LastZxid      string `json:"last_zxid"`
	AcceptedEpoch int64  `json:"accepted_epoch"`
	CurrentEpoch  int64  `json:"current_epoch"`
	Blank         bool   `json:"blank"`
}
