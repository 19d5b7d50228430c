package words

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Four-letter words are plain text over the client port. Source: operations 2.

// asker is who has sent a word: its connection, and the bytes behind the word, of which behind returns the first n, or
// nil if the client sends fewer.
type asker struct {
	conn   *serve.Conn
	behind func(n int) []byte
}

// Words has every word and the method that answers it.
var Words = map[string]func(*Reporter, asker, *bytes.Buffer){
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

// unready are the words that are answered also while the server does not serve.
var unready = []string{"ruok", "envi", "isro", "gtmk", "stmk"}

// notServing is the answer to the other words while the server does not serve.
const notServing = "This ZooKeeper instance is not currently serving requests"

// Has implements the interface reporter of package serve.
func (s *Reporter) Has(word string) bool {
	_, ok := Words[word]
	return ok
}

// Answer implements the interface reporter of package serve.
func (s *Reporter) Answer(word string, c *serve.Conn, behind func(n int) []byte, out *bytes.Buffer) {
	switch {
	case !s.WordAllowed(word):
		fmt.Fprintf(out, "%s is not executed because it is not in the whitelist.\n", word)
	case !s.Doors.IsOpen() && !slices.Contains(unready, word):
		out.WriteString(notServing)
		if word != "hash" { // as in ZooKeeper
			out.WriteByte('\n')
		}
	default:
		Words[word](s, asker{c, behind}, out)
	}
}

func (s *Reporter) WordAllowed(word string) bool {
	return word == "srvr" || word == "isro" && s.Config.ReadOnlyMode ||
		slices.Contains(s.Config.FourLetterWhitelist, word) || slices.Contains(s.Config.FourLetterWhitelist, "*")
}

// wordRuok says nothing if clients cannot be served, as ZooKeeper in a state of error.
func (s *Reporter) wordRuok(_ asker, out *bytes.Buffer) {
	if s.liveness.Stalled() == 0 {
		out.WriteString("imok")
	}
}

func (s *Reporter) wordIsro(_ asker, out *bytes.Buffer) {
	switch {
	case s.ReadOnly.Load():
		out.WriteString("ro")
	case s.Doors.IsOpen():
		out.WriteString("rw")
	default:
		out.WriteString("null")
	}
}

func (s *Reporter) wordSrvr(_ asker, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%s", s.Version, s.readOnlyLine())
	s.summary(out)
}

// summary writes the common part of srvr and stat.
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

// readOnlyLine is the first line of srvr and stat on a read-only server.
func (s *Reporter) readOnlyLine() string {
	if s.ReadOnly.Load() {
		return "READ-ONLY mode; serving only read-only clients\n"
	}
	return ""
}

func (s *Reporter) wordStat(from asker, out *bytes.Buffer) {
	fmt.Fprintf(out, "Zookeeper version: %s\n%sClients:\n", s.Version, s.readOnlyLine())
	for _, c := range s.front.SortedConns() {
		out.WriteString(s.describe(c, from.conn, false))
	}
	out.WriteByte('\n')
	s.summary(out)
}

func (s *Reporter) wordCons(from asker, out *bytes.Buffer) {
	for _, c := range s.front.SortedConns() {
		out.WriteString(s.describe(c, from.conn, true))
	}
	out.WriteByte('\n')
}

// describe is the line of a connection in stat, or with details in cons.
func (s *Reporter) describe(c, asking *serve.Conn, details bool) string {
	f := factsOf(c)
	if c == asking {
		f.Interest = 0
	}
	line := fmt.Sprintf(" /%s[%d](queued=%d,recved=%d,sent=%d", f.Remote, f.Interest, f.Outstanding, f.Received,
		f.Sent)
	if b := f.BoundSession; details && b != nil {
		line += fmt.Sprintf(",sid=%v,lop=%s,est=%d,to=%d", s.shownID(proto.SessionID(b.ID)), b.LastOperation,
			b.Established, b.TimeoutMs)
		if b.LastCxid >= 0 {
			line += fmt.Sprintf(",lcxid=0x%x", b.LastCxid)
		}
		line += fmt.Sprintf(",lzxid=%v,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", proto.Zxid(b.LastZxid),
			b.LastResponse, b.LastLatency, b.MinLatency, b.AvgLatency, b.MaxLatency)
	}
	return line + ")\n"
}

// opWord is the name of an operation in cons, four letters long.
func opWord(op proto.OpCode, answered int64) string {
	if answered == 0 {
		return "SESS"
	}
	return cmp.Or(opWords[op], "NA")
}

var opWords = map[proto.OpCode]string{
	proto.OpCreate: "CREA", proto.OpCreate2: "CREA", proto.OpCreateContainer: "CREA", proto.OpCreateTTL: "CREA",
	proto.OpDelete: "DELE", proto.OpExists: "EXIS", proto.OpGetData: "GETD", proto.OpSetData: "SETD",
	proto.OpGetACL: "GETA", proto.OpSetACL: "SETA", proto.OpGetChildren: "GETC", proto.OpGetChildren2: "GETC",
	proto.OpPing: "PING", proto.OpSetWatches: "SETW", proto.OpSetWatches2: "SETW", proto.OpMulti: "MULT",
	proto.OpSync: "SYNC",
}

func (s *Reporter) wordDirs(_ asker, out *bytes.Buffer) {
	snapSize, logSize := s.dirSizes()
	fmt.Fprintf(out, "datadir_size: %d\nlogdir_size: %d\n", snapSize, logSize)
}

func (s *Reporter) wordSrst(_ asker, out *bytes.Buffer) {
	s.resetStats()
	out.WriteString("Server stats reset.\n")
}

// resetStats is the effect of srst.
func (s *Reporter) resetStats() {
	s.Stats.Reset()
	s.front.ForgetSent()
}

func (s *Reporter) wordCrst(_ asker, out *bytes.Buffer) {
	s.front.ResetConnections()
	out.WriteString("Connection stats reset.\n")
}

// dirSizes are the bytes of all files in the snapshot directory and in the log directory.
func (s *Reporter) dirSizes() (snaps, logs int64) {
	snaps = s.dirSize(s.SnapDir())
	if s.LogDir() == s.SnapDir() {
		return snaps, snaps
	}
	return snaps, s.dirSize(s.LogDir())
}

func (s *Reporter) dirSize(dir string) (n int64) {
	names, err := s.FS.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := s.FS.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			n += info.Size()
		}
	}
	return n
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (s *Reporter) wordEnvi(_ asker, out *bytes.Buffer) {
	out.WriteString("Environment:\n")
	s.environment(func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) })
}

// environment calls line for each line of envi.
func (s *Reporter) environment(line func(key string, value any)) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	wd, _ := os.Getwd()
	limit := uint64(figures.MemoryLimit())
	if limit == math.MaxInt64 {
		limit = mem.Sys // of a system that does not tell
	}
	line("zookeeper.version", s.Version)
	line("host.name", host)
	for _, key := range []string{"version", "vendor", "home", "class.path", "library.path", "compiler"} {
		line("java."+key, "n/a")
	}
	line("java.io.tmpdir", os.TempDir())
	line("os.name", runtime.GOOS)
	line("os.arch", runtime.GOARCH)
	line("os.version", kernelVersion())
	line("user.name", audit.ProcessUser())
	line("user.home", home)
	line("user.dir", wd)
	for _, prefix := range []string{"os.memory.", "jvm.memory."} {
		line(prefix+"free", megabytes(mem.HeapIdle))
		line(prefix+"max", megabytes(limit))
		line(prefix+"total", megabytes(mem.Sys))
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }

func (s *Reporter) wordGtmk(_ asker, out *bytes.Buffer) { fmt.Fprint(out, s.traceMask.Load()) }

// wordHash prints the digests of the tree that the server keeps.
func (s *Reporter) wordHash(_ asker, out *bytes.Buffer) {
	for _, d := range s.Digests.List() {
		fmt.Fprintf(out, "%x: %d\n", int64(d.Zxid), d.Digest)
	}
}

// wordStmk sets the trace mask to the eight bytes behind the word. The mask has no effect.
func (s *Reporter) wordStmk(from asker, out *bytes.Buffer) {
	b := from.behind(8)
	if b == nil {
		return
	}
	mask := int64(binary.BigEndian.Uint64(b))
	s.traceMask.Store(mask)
	fmt.Fprint(out, mask)
}

func (s *Reporter) wordConf(_ asker, out *bytes.Buffer) {
	line := func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) }
	snapSize, logSize := s.dirSizes()
	plain, secure := s.front.PortNumbers()
	line("clientPort", plain)
	line("secureClientPort", secure)
	line("dataDir", absolute(s.SnapDir()))
	line("dataDirSize", snapSize)
	line("dataLogDir", absolute(s.LogDir()))
	line("dataLogSize", logSize)
	line("tickTime", s.Config.TickTime.Milliseconds())
	line("maxClientCnxns", s.Config.MaxClientCnxns)
	line("minSessionTimeout", s.Config.MinSessionTimeout.Milliseconds())
	line("maxSessionTimeout", s.Config.MaxSessionTimeout.Milliseconds())
	line("clientPortListenBacklog", s.Config.ListenBacklog)
	if !s.Config.Distributed() {
		line("serverId", 0) // regardless of myid
	} else {
		line("serverId", s.Config.ServerID)
		s.memberConf(line, out)
	}
}

// memberConf is what conf says of a member besides; all but the configuration of the ensemble while it is read-only.
func (s *Reporter) memberConf(line func(string, any), out *bytes.Buffer) {
	q, self := s.Membership(), s.OwnLine()
	line("initLimit", q.InitLimit)
	line("syncLimit", q.SyncLimit)
	line("electionAlg", 3)
	line("electionPort", joinPorts(self.Addresses, func(a config.PeerAddress) int { return a.ElectionPort }))
	line("quorumPort", joinPorts(self.Addresses, func(a config.PeerAddress) int { return a.QuorumPort }))
	line("peerType", int(self.Role))
	if !s.ReadOnly.Load() {
		fmt.Fprintf(out, "membership: \n%s", host.ConfigText(q))
	}
}

// joinPorts lists a port of each address, as conf does.
func joinPorts(all []config.PeerAddress, port func(config.PeerAddress) int) string {
	var ports []string
	for _, a := range all {
		ports = append(ports, strconv.Itoa(port(a)))
	}
	return strings.Join(ports, "|")
}

func (s *Reporter) wordWchs(_ asker, out *bytes.Buffer) {
	w := s.WatchSummary()
	fmt.Fprintf(out, "%d connections watching %d paths\nTotal watches:%d\n", w.Connections, w.Paths, w.Total)
}

// WatchSummary returns the number of data watches, and of what they join.
func (s *Reporter) WatchSummary() (w admin.WatchSummary) {
	s.front.Watches(func(r *watch.Registry) { w.Connections, w.Paths, w.Total = r.CountData() })
	return w
}

// Watches returns the data watches with their sessions.
func (s *Reporter) Watches() (all []admin.Watch) {
	s.front.EachDataWatch(func(id proto.SessionID, path []byte) {
		all = append(all, admin.Watch{Session: int64(id), Path: string(path)})
	})
	return all
}

func (s *Reporter) wordWchc(_ asker, out *bytes.Buffer) {
	writeGroups(out, s.Watches(), s.watchSession, watchPath)
}

func (s *Reporter) wordWchp(_ asker, out *bytes.Buffer) {
	writeGroups(out, s.Watches(), watchPath, s.watchSession)
}

func (s *Reporter) watchSession(w admin.Watch) proto.SessionID {
	return s.shownID(proto.SessionID(w.Session))
}
func watchPath(w admin.Watch) string { return w.Path }

// writeGroups writes the watches by head, and below each head the other half of its watches, both in order.
func writeGroups[H, E cmp.Ordered](out *bytes.Buffer, all []admin.Watch, head func(admin.Watch) H,
	entry func(admin.Watch) E) {
	slices.SortFunc(all, func(a, b admin.Watch) int {
		return cmp.Or(cmp.Compare(head(a), head(b)), cmp.Compare(entry(a), entry(b)))
	})
	for i, w := range all {
		if i == 0 || head(all[i-1]) != head(w) {
			fmt.Fprintln(out, head(w))
		}
		fmt.Fprintf(out, "\t%v\n", entry(w))
	}
	out.WriteByte('\n')
}
