package facts

import (
	"cmp"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Connection is one client connection.
type Connection struct {
	Remote      string `json:"remote_socket_address"`
	Interest    int    `json:"interest_ops"`
	Outstanding int    `json:"outstanding_requests"`
	Received    int64  `json:"packets_received"`
	Sent        int64  `json:"packets_sent"`
	*BoundSession
}

// BoundSession is the part of a connection that serves a session. Latencies are ms, Established is ms since 1970,
// LastResponse ms since an arbitrary moment.
type BoundSession struct {
	ID            int64  `json:"session_id"`
	LastOperation string `json:"last_operation"`
	Established   int64  `json:"established"`
	TimeoutMs     int32  `json:"session_timeout"`
	LastCxid      int32  `json:"last_cxid"`
	LastZxid      int64  `json:"last_zxid"`
	LastResponse  int64  `json:"last_response_time"`
	LastLatency   int64  `json:"last_latency"`
	MinLatency    int64  `json:"min_latency"`
	AvgLatency    int64  `json:"avg_latency"`
	MaxLatency    int64  `json:"max_latency"`
}

// Connections returns the clients of the plain and of the TLS port, by address.
func (f *Facts) Connections() (plain, secure []Connection) {
	for _, c := range f.front.SortedConns() {
		if c.SecurePort {
			secure = append(secure, ConnectionOf(c))
		} else {
			plain = append(plain, ConnectionOf(c))
		}
	}
	return plain, secure
}

// ConnectionOf describes a connection.
func ConnectionOf(c *serve.Conn) Connection {
	v := c.View()
	st := &v.Stats
	one := Connection{Remote: c.Remote.String(), Interest: 1, Outstanding: v.Queued, Received: st.Received,
		Sent: st.Sent}
	if v.Unsent > 0 {
		one.Interest = 5
	}
	s := c.Session.Load()
	if s == nil {
		return one
	}
	last := "SESS"
	if st.AnsweredTotal > 0 {
		last = cmp.Or(opWords[st.LastOp], "NA")
	}
	one.BoundSession = &BoundSession{
		ID: int64(s.ID), LastOperation: last, Established: c.Established.UnixMilli(),
		TimeoutMs: s.TimeoutMs(), LastCxid: st.LastXid, LastZxid: int64(st.LastZxid),
		LastResponse: figures.Ms(st.LastResponse),
		LastLatency:  st.LastLatency, MinLatency: st.MinLatency,
		AvgLatency: st.LatencySum / max(st.AnsweredTotal, 1), MaxLatency: st.MaxLatency,
	}
	return one
}

// opWords are the names of operations in cons, four letters long.
var opWords = map[proto.OpCode]string{
	proto.OpCreate: "CREA", proto.OpCreate2: "CREA", proto.OpCreateContainer: "CREA", proto.OpCreateTTL: "CREA",
	proto.OpDelete: "DELE", proto.OpExists: "EXIS", proto.OpGetData: "GETD", proto.OpSetData: "SETD",
	proto.OpGetACL: "GETA", proto.OpSetACL: "SETA", proto.OpGetChildren: "GETC", proto.OpGetChildren2: "GETC",
	proto.OpPing: "PING", proto.OpSetWatches: "SETW", proto.OpSetWatches2: "SETW", proto.OpMulti: "MULT",
	proto.OpSync: "SYNC",
}
