package words

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
)

// dirSizes is the bytes of all files in the snapshot and in the log directory.
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

func (s *Reporter) wordEnvi(_ *serve.Conn, out *bytes.Buffer) {
	out.WriteString("Environment:\n")
	s.environment(func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) })
}

// environment is the lines of envi.
func (s *Reporter) environment(line func(key string, value any)) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	wd, _ := os.Getwd()
	limit := debug.SetMemoryLimit(-1)
	line("zookeeper.version", s.Version)
	line("host.name", host)
	for _, key := range []string{"version", "vendor", "home", "class.path", "library.path", "compiler"} {
		line("java."+key, "n/a")
	}
	line("java.io.tmpdir", os.TempDir())
	line("os.name", runtime.GOOS)
	line("os.arch", runtime.GOARCH)
	line("os.version", kernelVersion())
	line("user.name", os.Getenv("USER"))
	line("user.home", home)
	line("user.dir", wd)
	for _, prefix := range []string{"os.memory.", "jvm.memory."} {
		line(prefix+"free", megabytes(mem.HeapIdle))
		line(prefix+"max", megabytes(uint64(limit)))
		line(prefix+"total", megabytes(mem.Sys))
	}
}

func megabytes(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }

func (s *Reporter) wordGtmk(_ *serve.Conn, out *bytes.Buffer) { fmt.Fprint(out, s.traceMask.Load()) }

// wordHash prints the digests of the tree that are retained.
func (s *Reporter) wordHash(_ *serve.Conn, out *bytes.Buffer) {
	for _, d := range s.Digests.List() {
		fmt.Fprintf(out, "%x: %d\n", int64(d.Zxid), d.Digest)
	}
}

// wordStmk replaces the trace mask by the eight bytes behind the word. The mask has no effect.
func (s *Reporter) wordStmk(c *serve.Conn, out *bytes.Buffer) {
	for len(c.In.Bytes()) < 4+8 {
		if c.Fill() != nil {
			return
		}
	}
	mask := int64(binary.BigEndian.Uint64(c.In.Bytes()[4:]))
	s.traceMask.Store(mask)
	fmt.Fprint(out, mask)
}

func (s *Reporter) wordConf(_ *serve.Conn, out *bytes.Buffer) {
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
	line("serverId", s.Config.ServerID)
	if s.Config.Distributed() {
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
