package words

import (
	"bytes"
	"fmt"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
)

// The words about clients, and srvr, which is stat without them.

func (w *Words) srvr(_ asker, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%s", w.Version, w.readOnlyLine())
	w.summary(out)
}

// readOnlyLine is the second line of srvr and stat on a read-only server.
func (w *Words) readOnlyLine() string {
	if w.ReadOnly() {
		return "READ-ONLY mode; serving only read-only clients\n"
	}
	return ""
}

func (w *Words) summary(out *bytes.Buffer) {
	s := w.Stats()
	fmt.Fprintf(out, "Latency min/avg/max: %d/%s/%d\n", s.Server.MinLatency, s.Server.AvgLatency, s.Server.MaxLatency)
	fmt.Fprintf(out, "Received: %d\n", s.Server.Received)
	fmt.Fprintf(out, "Sent: %d\n", s.Server.Sent)
	fmt.Fprintf(out, "Connections: %d\n", s.Server.Connections)
	fmt.Fprintf(out, "Outstanding: %d\n", s.Server.Outstanding)
	fmt.Fprintf(out, "Zxid: %v\n", proto.Zxid(s.Server.LastZxid))
	fmt.Fprintf(out, "Mode: %s\n", s.Server.State)
	fmt.Fprintf(out, "Node count: %d\n", s.Znodes)
	if p := s.Proposals; p != nil {
		fmt.Fprintf(out, "Proposal sizes last/min/max: %d/%d/%d\n", p.Last, p.Min, p.Max)
	}
}

func (w *Words) stat(from asker, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%sClients:\n", w.Version, w.readOnlyLine())
	w.connections(from, out, false)
	w.summary(out)
}

func (w *Words) cons(from asker, out *bytes.Buffer) { w.connections(from, out, true) }

// connections writes a line for each connection, with details for cons.
func (w *Words) connections(from asker, out *bytes.Buffer, details bool) {
	for _, c := range w.front.SortedConns() {
		one := facts.ConnectionOf(c)
		if c == from.conn {
			one.Interest = 0
		}
		fmt.Fprintf(out, " /%s[%d](queued=%d,recved=%d,sent=%d", one.Remote, one.Interest, one.Outstanding,
			one.Received, one.Sent)
		if b := one.BoundSession; details && b != nil {
			w.session(b, out)
		}
		out.WriteString(")\n")
	}
	out.WriteByte('\n')
}

// session writes the part of a line of cons that is about the session.
func (w *Words) session(b *facts.BoundSession, out *bytes.Buffer) {
	fmt.Fprintf(out, ",sid=%v,lop=%s,est=%d,to=%d", w.shownID(proto.SessionID(b.ID)), b.LastOperation, b.Established,
		b.TimeoutMs)
	if b.LastCxid >= 0 {
		fmt.Fprintf(out, ",lcxid=0x%x", b.LastCxid)
	}
	fmt.Fprintf(out, ",lzxid=%v,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", proto.Zxid(b.LastZxid),
		b.LastResponse, b.LastLatency, b.MinLatency, b.AvgLatency, b.MaxLatency)
}

func (w *Words) crst(_ asker, out *bytes.Buffer) {
	w.ResetConnections()
	out.WriteString("Connection stats reset.\n")
}
