package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
)

// Four-letter words: plain text over the client port. Source: operations 2.

// words is every word and how it is answered.
var words = map[string]func(*Server, *conn, *bytes.Buffer){
	"ruok": (*Server).wordRuok,
	"srvr": (*Server).wordSrvr,
	"stat": (*Server).wordStat,
	"mntr": (*Server).wordMntr,
	"conf": (*Server).wordConf,
	"cons": (*Server).wordCons,
	"isro": (*Server).wordIsro,
	"dump": (*Server).wordDump,
	"wchs": (*Server).wordWchs,
	"wchc": (*Server).wordWchc,
	"wchp": (*Server).wordWchp,
	"srst": (*Server).wordSrst,
	"crst": (*Server).wordCrst,
	"dirs": (*Server).wordDirs,
	"envi": (*Server).wordEnvi,
	"gtmk": (*Server).wordGtmk,
	"stmk": (*Server).wordStmk,
	"hash": (*Server).wordHash,
}

// unready is the words that are answered while the server does not serve.
var unready = []string{"ruok", "envi", "isro", "gtmk", "stmk"}

// telnetInterrupt is what telnet sends for ^C; it only closes the connection.
const telnetInterrupt = "\xff\xf4\xff\xfd"

// wordOf returns the four-letter word that the first four bytes of a connection spell.
func wordOf(n uint32) (string, bool) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	word := string(b[:])
	_, ok := words[word]
	return word, ok || word == telnetInterrupt
}

// answerWord answers a word and ends the connection.
func (c *conn) answerWord(word string) {
	var out bytes.Buffer
	s := c.srv
	c.mu.Lock()
	c.mu.stats.Received++
	c.mu.Unlock()
	switch {
	case word == telnetInterrupt:
		return
	case !s.wordAllowed(word):
		fmt.Fprintf(&out, "%s is not executed because it is not in the whitelist.\n", word)
	case !s.serving.Load() && !slices.Contains(unready, word):
		out.WriteString(notServing)
		if word != "hash" { // as ZooKeeper has it
			out.WriteByte('\n')
		}
	default:
		words[word](s, c, &out)
	}
	s.stats.Sent.Add(1)
	c.mu.Lock()
	c.mu.out.buf = append(c.mu.out.buf, out.Bytes()...)
	c.mu.out.closing = true
	c.mu.Unlock()
	c.flush()
	// The client may have closed its side long ago: its end must not cut the answer off.
	if c.wait(func() bool { return c.mu.out.finished }) {
		c.drainInput()
	}
}

// notServing is what words say of a server that does not serve.
const notServing = "This ZooKeeper instance is not currently serving requests"

// serveWordOnly answers a word, and nothing else, on a connection beyond the limits.
func (c *conn) serveWordOnly() {
	defer c.cleanup()
	_ = c.nc.SetReadDeadline(c.srv.clock.in(wordTimeout))
	for {
		if err := c.fill(); err != nil {
			return
		}
		if n, ok := c.in.peekLength(); ok {
			if word, ok := wordOf(n); ok {
				c.answerWord(word)
			}
			return
		}
	}
}

// wordTimeout is how long a connection beyond the limits may take to send its word.
const wordTimeout = time.Second

func (s *Server) wordAllowed(word string) bool {
	return word == "srvr" || word == "isro" && s.cfg.ReadOnlyMode ||
		slices.Contains(s.cfg.FourLetterWhitelist, word) || slices.Contains(s.cfg.FourLetterWhitelist, "*")
}

func (s *Server) wordRuok(_ *conn, out *bytes.Buffer) { out.WriteString("imok") }

func (s *Server) wordIsro(_ *conn, out *bytes.Buffer) {
	switch {
	case s.readOnly.Load():
		out.WriteString("ro")
	case s.serving.Load():
		out.WriteString("rw")
	default:
		out.WriteString("null")
	}
}

func (s *Server) wordSrvr(_ *conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%s", s.versionLine(), s.readOnlyLine())
	s.summary(out)
}

// summary writes what srvr and stat have in common.
func (s *Server) summary(out *bytes.Buffer) {
	least, mean, most := s.stats.Latency()
	fmt.Fprintf(out, "Latency min/avg/max: %d/%s/%d\n", least, figures.Decimal(mean), most)
	fmt.Fprintf(out, "Received: %d\n", s.stats.Received.Load())
	fmt.Fprintf(out, "Sent: %d\n", s.packetsSent())
	fmt.Fprintf(out, "Connections: %d\n", s.conns.len())
	fmt.Fprintf(out, "Outstanding: %d\n", s.inProcess.Load())
	fmt.Fprintf(out, "Zxid: %v\n", s.store.lastZxid())
	fmt.Fprintf(out, "Mode: %s\n", s.mode())
	s.store.mu.RLock()
	fmt.Fprintf(out, "Node count: %d\n", s.store.state.NumNodes()+1) // ZooKeeper counts the root twice
	s.store.mu.RUnlock()
	if r, ok := s.metrics.quorum.now(); ok && r.Leading {
		last, least, most := s.metrics.quorum.ProposalSize.View()
		fmt.Fprintf(out, "Proposal sizes last/min/max: %d/%d/%d\n", last, least, most)
	}
}

// readOnlyLine is what srvr and stat say of a server that serves read-only clients only.
func (s *Server) readOnlyLine() string {
	if s.readOnly.Load() {
		return "READ-ONLY mode; serving only read-only clients\n"
	}
	return ""
}

func (s *Server) wordStat(asking *conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%sClients:\n", s.versionLine(), s.readOnlyLine())
	for _, c := range s.sortedConns() {
		out.WriteString(c.describe(asking, false))
	}
	out.WriteByte('\n')
	s.summary(out)
}

func (s *Server) wordCons(asking *conn, out *bytes.Buffer) {
	for _, c := range s.sortedConns() {
		out.WriteString(c.describe(asking, true))
	}
	out.WriteByte('\n')
}

// sortedConns is the open connections by address.
func (s *Server) sortedConns() []*conn {
	var all []*conn
	s.conns.each(func(c *conn) { all = append(all, c) })
	slices.SortFunc(all, func(a, b *conn) int { return a.remote.Compare(b.remote) })
	return all
}

// describe is the connection's line in stat, and in cons.
func (c *conn) describe(asking *conn, details bool) string {
	f := c.facts()
	if c == asking {
		f.Interest = 0
	}
	line := fmt.Sprintf(" /%s[%d](queued=%d,recved=%d,sent=%d", f.Remote, f.Interest, f.Outstanding, f.Received, f.Sent)
	if s := f.BoundSession; details && s != nil {
		line += fmt.Sprintf(",sid=%v,lop=%s,est=%d,to=%d", proto.SessionID(s.ID), s.LastOperation, s.Established, s.TimeoutMs)
		if s.LastCxid >= 0 {
			line += fmt.Sprintf(",lcxid=0x%x", s.LastCxid)
		}
		line += fmt.Sprintf(",lzxid=%v,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", proto.Zxid(s.LastZxid),
			s.LastResponse, s.LastLatency, s.MinLatency, s.AvgLatency, s.MaxLatency)
	}
	return line + ")\n"
}

// opWord is an operation's four letters in cons.
func opWord(op proto.OpCode, answered int64) string {
	if answered == 0 {
		return "SESS"
	}
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return "CREA"
	case proto.OpDelete:
		return "DELE"
	case proto.OpExists:
		return "EXIS"
	case proto.OpGetData:
		return "GETD"
	case proto.OpSetData:
		return "SETD"
	case proto.OpGetACL:
		return "GETA"
	case proto.OpSetACL:
		return "SETA"
	case proto.OpGetChildren, proto.OpGetChildren2:
		return "GETC"
	case proto.OpPing:
		return "PING"
	case proto.OpSetWatches, proto.OpSetWatches2:
		return "SETW"
	case proto.OpMulti:
		return "MULT"
	case proto.OpSync:
		return "SYNC"
	}
	return "NA"
}

func (s *Server) wordDirs(_ *conn, out *bytes.Buffer) {
	snapSize, logSize := s.dirSizes()
	fmt.Fprintf(out, "datadir_size: %d\nlogdir_size: %d\n", snapSize, logSize)
}

func (s *Server) wordSrst(_ *conn, out *bytes.Buffer) {
	s.resetStats()
	out.WriteString("Server stats reset.\n")
}

// resetStats is srst.
func (s *Server) resetStats() {
	s.stats.Reset()
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		c.srv.stats.Sent.Add(-c.mu.stats.Sent)
		c.mu.Unlock()
	})
}

func (s *Server) wordCrst(_ *conn, out *bytes.Buffer) {
	s.resetConnections()
	out.WriteString("Connection stats reset.\n")
}

// resetConnections is crst.
func (s *Server) resetConnections() {
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		c.srv.stats.Sent.Add(c.mu.stats.Sent)
		c.mu.stats.Reset(c.srv.clock.now())
		c.mu.Unlock()
	})
}
