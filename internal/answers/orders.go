package answers

// ShedConnections is the answer to shed_connections.
type ShedConnections struct {
	Shed      int `json:"connections_shed" doc:"connections that were ended; after a dry run, that would be"`
	Requested int `json:"percentage_requested" doc:"what was asked for"`
}

// Drained is the answer to drain.
type Drained struct {
	Draining bool `json:"draining" doc:"the server takes no clients"`
	Clients  int  `json:"clients" doc:"connections with a session"`
	Rate     int  `json:"rate" doc:"connections that end per second, at most; 0 if it takes clients"`
}

// HandedOver is the answer to hand_over.
type HandedOver struct {
	From   int64 `json:"from" doc:"myid of the server that led before"`
	To     int64 `json:"to" doc:"myid of the server that is to lead"`
	Leader int64 `json:"leader" doc:"myid of the server that leads now"`
	TookMs int64 `json:"took_ms" doc:"until this server served clients as a follower, ms"`
}

// EndedSession is the answer to end_session.
type EndedSession struct {
	Label      string `json:"label" doc:"of the session at this server; opens nothing"`
	Client     string `json:"client" doc:"address of its client; empty if that is not connected to this server"`
	TimeoutMs  int32  `json:"timeout_ms" doc:"of the session"`
	Ephemerals int    `json:"ephemerals" doc:"znodes that go with it"`
	Ended      bool   `json:"ended" doc:"false after a dry run"`
}

// Level is the answer to log_level.
type Level struct {
	Level string `json:"level" doc:"debug, info, warn or error"`
	Then  string `json:"then" doc:"level that returns; empty if none does"`
	Until int64  `json:"until" doc:"when it returns, ms since 1970; 0 if none does"`
}

// TakenSnapshot is the answer to take_snapshot.
type TakenSnapshot struct {
	Zxid  string `json:"zxid" doc:"in the name of the newest snapshot, hexadecimal; empty if there is none"`
	Bytes int64  `json:"bytes" doc:"of its file"`
	Txns  int64  `json:"txns" doc:"that the state has beyond it; -1 if they are of several epochs"`
	Taken bool   `json:"taken" doc:"it was written now; false after a dry run, and if there was nothing to write"`
}
