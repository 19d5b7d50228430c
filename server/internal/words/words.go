package words

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Four-letter words: plain text over the client port. Source: operations 2.

// Words is every word and how it is answered.
var Words = map[string]func(*Reporter, *serve.Conn, *bytes.Buffer){
	"ruok": (*Reporter).wordRuok,
	"srvr": (*Reporter).wordSrvr,
	"stat": (*Reporter).wordStat,
	"mntr": (*Reporter).wordMntr,
	"conf": (*Reporter).wordConf,
	"cons": (*Reporter).wordCons,
	"isro": (*Reporter).wordIsro,
	"dump": (*Reporter).wordDump,
	"wchs": (*Reporter).wordWchs,
	"wchc": (*Reporter).wordWchc,
	"wchp": (*Reporter).wordWchp,
	"srst": (*Reporter).wordSrst,
	"crst": (*Reporter).wordCrst,
	"dirs": (*Reporter).wordDirs,
	"envi": (*Reporter).wordEnvi,
	"gtmk": (*Reporter).wordGtmk,
	"stmk": (*Reporter).wordStmk,
	"hash": (*Reporter).wordHash,
}

// unready is the words that are answered while the server does not serve.
var unready = []string{"ruok", "envi", "isro", "gtmk", "stmk"}

// notServing is what words say of a server that does not serve.
const notServing = "This ZooKeeper instance is not currently serving requests"

// Has implements answers.
func (s *Reporter) Has(word string) bool {
	_, ok := Words[word]
	return ok
}

// Answer implements answers.
func (s *Reporter) Answer(word string, asking *serve.Conn, out *bytes.Buffer) {
	switch {
	case !s.WordAllowed(word):
		fmt.Fprintf(out, "%s is not executed because it is not in the whitelist.\n", word)
	case !s.Accepting.Load() && !slices.Contains(unready, word):
		out.WriteString(notServing)
		if word != "hash" { // as ZooKeeper has it
			out.WriteByte('\n')
		}
	default:
		Words[word](s, asking, out)
	}
}

func (s *Reporter) WordAllowed(word string) bool {
	return word == "srvr" || word == "isro" && s.Config.ReadOnlyMode ||
		slices.Contains(s.Config.FourLetterWhitelist, word) || slices.Contains(s.Config.FourLetterWhitelist, "*")
}

func (s *Reporter) wordRuok(_ *serve.Conn, out *bytes.Buffer) { out.WriteString("imok") }

func (s *Reporter) wordIsro(_ *serve.Conn, out *bytes.Buffer) {
	switch {
	case s.ReadOnly.Load():
		out.WriteString("ro")
	case s.Accepting.Load():
		out.WriteString("rw")
	default:
		out.WriteString("null")
	}
}

func (s *Reporter) wordSrvr(_ *serve.Conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%s", s.Version, s.readOnlyLine())
	s.summary(out)
}

// summary writes what srvr and stat have in common.
func (s *Reporter) summary(out *bytes.Buffer) {
	least, mean, most := s.Stats.Latency()
	fmt.Fprintf(out, "Latency min/avg/max: %d/%s/%d\n", least, figures.Decimal(mean), most)
	fmt.Fprintf(out, "Received: %d\n", s.Stats.Received.Load())
	fmt.Fprintf(out, "Sent: %d\n", s.front.PacketsSent())
	fmt.Fprintf(out, "Connections: %d\n", s.front.Conns.Len())
	fmt.Fprintf(out, "Outstanding: %d\n", s.InProcess.Load())
	fmt.Fprintf(out, "Zxid: %v\n", s.Store.LastZxid())
	fmt.Fprintf(out, "Mode: %s\n", s.host.Mode())
	s.Store.Mu.RLock()
	fmt.Fprintf(out, "Node count: %d\n", s.Store.State.NumNodes()+1) // ZooKeeper counts the root twice
	s.Store.Mu.RUnlock()
	if r, ok := s.Role(); ok && r.Leading {
		last, least, most := s.Metrics.Quorum.ProposalSize.View()
		fmt.Fprintf(out, "Proposal sizes last/min/max: %d/%d/%d\n", last, least, most)
	}
}

// readOnlyLine is what srvr and stat say of a server that serves read-only clients only.
func (s *Reporter) readOnlyLine() string {
	if s.ReadOnly.Load() {
		return "READ-ONLY mode; serving only read-only clients\n"
	}
	return ""
}

func (s *Reporter) wordStat(asking *serve.Conn, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%sClients:\n", s.Version, s.readOnlyLine())
	for _, c := range s.front.SortedConns() {
		out.WriteString(describe(c, asking, false))
	}
	out.WriteByte('\n')
	s.summary(out)
}

func (s *Reporter) wordCons(asking *serve.Conn, out *bytes.Buffer) {
	for _, c := range s.front.SortedConns() {
		out.WriteString(describe(c, asking, true))
	}
	out.WriteByte('\n')
}

// describe is the connection's line in stat, and in cons.
func describe(c, asking *serve.Conn, details bool) string {
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

func (s *Reporter) wordDirs(_ *serve.Conn, out *bytes.Buffer) {
	snapSize, logSize := s.dirSizes()
	fmt.Fprintf(out, "datadir_size: %d\nlogdir_size: %d\n", snapSize, logSize)
}

func (s *Reporter) wordSrst(_ *serve.Conn, out *bytes.Buffer) {
	s.resetStats()
	out.WriteString("Server stats reset.\n")
}

// resetStats is srst.
func (s *Reporter) resetStats() {
	s.Stats.Reset()
	s.front.ForgetSent()
}

func (s *Reporter) wordCrst(_ *serve.Conn, out *bytes.Buffer) {
	s.front.ResetConnections()
	out.WriteString("Connection stats reset.\n")
}
