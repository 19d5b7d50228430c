package server

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"
)

// packetsSent is how many frames were sent since the server began or since srst.
func (s *Server) packetsSent() int64 {
	n := s.stats.sent.Load()
	s.conns.each(func(c *conn) {
		c.mu.Lock()
		n += c.mu.stats.sent
		c.mu.Unlock()
	})
	return n
}

// dirSizes is the bytes of all files in the snapshot and in the log directory.
func (s *Server) dirSizes() (snaps, logs int64) {
	snaps = s.dirSize(s.snapDir())
	if s.logDir() == s.snapDir() {
		return snaps, snaps
	}
	return snaps, s.dirSize(s.logDir())
}

func (s *Server) dirSize(dir string) (n int64) {
	names, err := s.fs.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := s.fs.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			n += info.Size()
		}
	}
	return n
}

// portOf is the port clients connect to.
func portOf(s *Server) int {
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return s.cfg.ClientPort
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (s *Server) wordEnvi(_ *conn, out *bytes.Buffer) {
	out.WriteString("Environment:\n")
	s.environment(func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) })
}

// environment is the lines of envi.
func (s *Server) environment(line func(key string, value any)) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	wd, _ := os.Getwd()
	limit := debug.SetMemoryLimit(-1)
	line("zookeeper.version", s.versionLine())
	line("host.name", host)
	for _, key := range []string{"version", "vendor", "home", "class.path", "library.path", "compiler"} {
		line("java."+key, "n/a")
	}
	line("java.io.tmpdir", os.TempDir())
	line("os.name", runtime.GOOS)
	line("os.arch", runtime.GOARCH)
	line("os.version", "n/a")
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

// gauges is the numbers that mntr prints and the metrics export, by ZooKeeper's names. Source:
// operations sections 2.3 and 4.4.
func (s *Server) gauges() []gauge {
	least, mean, most := s.stats.latency()
	openFDs, maxFDs := fileDescriptors()
	s.store.mu.RLock()
	state := s.store.state
	nodes, ephemerals, size := state.NumNodes()+1, state.NumEphemerals(), state.DataSize()
	s.store.watchMu.Lock()
	_, _, watches := s.store.watches.Count()
	s.store.watchMu.Unlock()
	s.store.mu.RUnlock()
	return []gauge{
		{"avg_latency", mean, true, "Mean latency of all requests, ms."},
		{"max_latency", float64(most), false, "Largest latency of a request, ms."},
		{"min_latency", float64(least), false, "Least latency of a request, ms."},
		{"packets_received", float64(s.stats.received.Load()), false, "Frames received from clients."},
		{"packets_sent", float64(s.packetsSent()), false, "Frames sent to clients."},
		{"num_alive_connections", float64(s.conns.len()), false, "Open client connections."},
		{"outstanding_requests", float64(s.inProcess.Load()), false, "Requests received and not answered."},
		{"uptime", float64(time.Since(s.began).Milliseconds()), false, "Time since the server began, ms."},
		{"znode_count", float64(nodes), false, "Znodes in the tree."},
		{"watch_count", float64(watches), false, "Watches, data and child."},
		{"ephemerals_count", float64(ephemerals), false, "Znodes that belong to sessions."},
		{"approximate_data_size", float64(size), false, "Bytes of all paths and data."},
		{"global_sessions", float64(s.tracker.count()), false, "Sessions."},
		{"local_sessions", 0, false, "Sessions that only this server knows."},
		{"open_file_descriptor_count", float64(openFDs), false, "Open file descriptors."},
		{"max_file_descriptor_count", float64(maxFDs), false, "Limit of open file descriptors."},
		{"connection_drop_probability", s.throttle.dropProbability(), true, "Share of new connections that are dropped."},
	}
}

// gauge is one number that goes up and down.
type gauge struct {
	name    string
	value   float64
	decimal bool // printed with a decimal point
	help    string
}

func (s *Server) wordMntr(_ *conn, out *bytes.Buffer) {
	s.monitor(func(key, value string) { fmt.Fprintf(out, "zk_%s\t%s\n", key, value) })
}

// monitor is the lines of mntr, without their prefix.
func (s *Server) monitor(line func(key, value string)) {
	line("version", s.versionLine())
	line("server_state", s.mode())
	for _, g := range s.gauges() {
		if g.decimal {
			line(g.name, decimal(g.value))
		} else {
			line(g.name, fmt.Sprintf("%.0f", g.value))
		}
	}
	for _, c := range s.metrics.counters {
		line(c.name, fmt.Sprintf("%d", c.value.Load()))
	}
	for _, m := range s.metrics.summaries {
		v := m.of.view()
		line("avg_"+m.name, decimal(v.mean()))
		line("min_"+m.name, fmt.Sprint(v.least))
		line("max_"+m.name, fmt.Sprint(v.most))
		line("cnt_"+m.name, fmt.Sprint(v.count))
		line("sum_"+m.name, fmt.Sprint(v.sum))
		if m.quantiles {
			line("p50_"+m.name, fmt.Sprintf("%.0f", v.quantile(0.5)))
			line("p95_"+m.name, fmt.Sprintf("%.0f", v.quantile(0.95)))
			line("p99_"+m.name, fmt.Sprintf("%.0f", v.quantile(0.99)))
			line("p999_"+m.name, fmt.Sprintf("%.0f", v.quantile(0.999)))
		}
	}
}
