package server

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
)

// Four-letter words: plain text over the client port. Source: operations 2.

// words is every word and how it is answered.
var words = map[string]func(*monitor, *conn, *bytes.Buffer){
	"ruok": (*monitor).wordRuok,
	"srvr": (*monitor).wordSrvr,
	"stat": (*monitor).wordStat,
	"mntr": (*monitor).wordMntr,
	"conf": (*monitor).wordConf,
	"cons": (*monitor).wordCons,
	"isro": (*monitor).wordIsro,
	"dump": (*monitor).wordDump,
	"wchs": (*monitor).wordWchs,
	"wchc": (*monitor).wordWchc,
	"wchp": (*monitor).wordWchp,
	"srst": (*monitor).wordSrst,
	"crst": (*monitor).wordCrst,
	"dirs": (*monitor).wordDirs,
	"envi": (*monitor).wordEnvi,
	"gtmk": (*monitor).wordGtmk,
	"stmk": (*monitor).wordStmk,
	"hash": (*monitor).wordHash,
}

// unready is the words that are answered while the server does not serve.
var unready = []string{"ruok", "envi", "isro", "gtmk", "stmk"}

// notServing is what words say of a server that does not serve.
const notServing = "This ZooKeeper instance is not currently serving requests"

// has implements answers.
func (s *monitor) has(word string) bool {
	_, ok := words[word]
	return ok
}

// answer implements answers.
func (s *monitor) answer(word string, asking *conn, out *bytes.Buffer) {
	switch {
	case !s.wordAllowed(word):
		fmt.Fprintf(out, "%s is not executed because it is not in the whitelist.\n", word)
	case !s.serving.Load() && !slices.Contains(unready, word):
		out.WriteString(notServing)
		if word != "hash" { // as ZooKeeper has it
			out.WriteByte('\n')
		}
	default:
		words[word](s, asking, out)
	}
}

func (s *monitor) wordAllowed(word string) bool {
	return word == "srvr" || word == "isro" && s.cfg.ReadOnlyMode ||
		slices.Contains(s.cfg.FourLetterWhitelist, word) || slices.Contains(s.cfg.FourLetterWhitelist, "*")
}

func (s *monitor) wordRuok(_ *conn, out *bytes.Buffer) { out.WriteString("imok") }

func (s *monitor) wordIsro(_ *conn, out *bytes.Buffer) {
	switch {
	case s.readOnly.Load():
		out.WriteString("ro")
	case s.serving.Load():
		out.WriteString("rw")
	default:
		out.WriteString("null")
	}
}

func (s *monitor) wordSrvr(_ *conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%s", s.version, s.readOnlyLine())
	s.summary(out)
}

// summary writes what srvr and stat have in common.
func (s *monitor) summary(out *bytes.Buffer) {
	least, mean, most := s.stats.Latency()
	fmt.Fprintf(out, "Latency min/avg/max: %d/%s/%d\n", least, figures.Decimal(mean), most)
	fmt.Fprintf(out, "Received: %d\n", s.stats.Received.Load())
	fmt.Fprintf(out, "Sent: %d\n", s.front.packetsSent())
	fmt.Fprintf(out, "Connections: %d\n", s.front.conns.len())
	fmt.Fprintf(out, "Outstanding: %d\n", s.inProcess.Load())
	fmt.Fprintf(out, "Zxid: %v\n", s.store.lastZxid())
	fmt.Fprintf(out, "Mode: %s\n", s.host.mode())
	s.store.mu.RLock()
	fmt.Fprintf(out, "Node count: %d\n", s.store.state.NumNodes()+1) // ZooKeeper counts the root twice
	s.store.mu.RUnlock()
	if r, ok := s.role(); ok && r.Leading {
		last, least, most := s.metrics.quorum.ProposalSize.View()
		fmt.Fprintf(out, "Proposal sizes last/min/max: %d/%d/%d\n", last, least, most)
	}
}

// readOnlyLine is what srvr and stat say of a server that serves read-only clients only.
func (s *monitor) readOnlyLine() string {
	if s.readOnly.Load() {
		return "READ-ONLY mode; serving only read-only clients\n"
	}
	return ""
}

func (s *monitor) wordStat(asking *conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%sClients:\n", s.version, s.readOnlyLine())
	for _, c := range s.front.sortedConns() {
		out.WriteString(describe(c, asking, false))
	}
	out.WriteByte('\n')
	s.summary(out)
}

func (s *monitor) wordCons(asking *conn, out *bytes.Buffer) {
	for _, c := range s.front.sortedConns() {
		out.WriteString(describe(c, asking, true))
	}
	out.WriteByte('\n')
}

// describe is the connection's line in stat, and in cons.
func describe(c, asking *conn, details bool) string {
	f := factsOf(c)
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

func (s *monitor) wordDirs(_ *conn, out *bytes.Buffer) {
	snapSize, logSize := s.dirSizes()
	fmt.Fprintf(out, "datadir_size: %d\nlogdir_size: %d\n", snapSize, logSize)
}

func (s *monitor) wordSrst(_ *conn, out *bytes.Buffer) {
	s.resetStats()
	out.WriteString("Server stats reset.\n")
}

// resetStats is srst.
func (s *monitor) resetStats() {
	s.stats.Reset()
	s.front.forgetSent()
}

func (s *monitor) wordCrst(_ *conn, out *bytes.Buffer) {
	s.front.resetConnections()
	out.WriteString("Connection stats reset.\n")
}
