package zk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const wordBytesMax = 64 << 20 // of an answer

// Mode is the role of a server.
type Mode uint8

// The roles of servers.
const (
	ModeUnknown Mode = iota
	ModeLeader
	ModeFollower
	ModeStandalone
)

var modeNames = map[Mode]string{ModeLeader: "leader", ModeFollower: "follower", ModeStandalone: "standalone"}

// String returns the role as servers write it.
func (m Mode) String() string { return cmp.Or(modeNames[m], "unknown") }

// ServerStats is the answer of a server to the word srvr. Latencies are in milliseconds.
type ServerStats struct {
	Server      string
	Sent        int64
	Received    int64
	NodeCount   int64
	MinLatency  int64
	AvgLatency  float64
	MaxLatency  int64
	Connections int64
	Outstanding int64
	Epoch       int32 // upper half of the zxid
	Counter     int32 // lower half of the zxid
	BuildTime   time.Time
	Mode        Mode
	Version     string
	Error       error // why the rest is not filled in
}

// ServerClient is a connection with a session, as in the answer to the word cons. Latencies and the timeout are
// in milliseconds.
type ServerClient struct {
	Queued        int64
	Received      int64
	Sent          int64
	SessionID     int64
	Lcxid         int64 // xid of the last request
	Lzxid         int64 // zxid of the last reply
	Timeout       int32
	LastLatency   int32
	MinLatency    int32
	AvgLatency    int32
	MaxLatency    int32
	Established   time.Time
	LastResponse  time.Time
	Addr          string
	LastOperation string
	Error         error // of this line of the answer
}

// ServerClients holds the connections of one server, or the error why they are not known.
type ServerClients struct {
	Clients []*ServerClient
	Error   error
}

// FLWRuok asks servers by the word ruok whether they are running. The timeout is for each server.
func FLWRuok(servers []string, timeout time.Duration) []bool {
	oks := make([]bool, len(servers))
	for i, server := range FormatServers(servers) {
		answer, err := ask(server, "ruok", timeout)
		oks[i] = err == nil && strings.HasPrefix(answer, "imok")
	}
	return oks
}

// FLWSrvr asks servers by the word srvr for their statistics. It returns false if one of them has an Error.
func FLWSrvr(servers []string, timeout time.Duration) ([]*ServerStats, bool) {
	all, ok := make([]*ServerStats, len(servers)), true
	for i, server := range FormatServers(servers) {
		answer, err := ask(server, "srvr", timeout)
		if err == nil {
			all[i], err = parseStats(answer)
		}
		if err != nil {
			all[i], ok = &ServerStats{Error: err}, false
		}
		all[i].Server = server
	}
	return all, ok
}

// FLWCons asks servers by the word cons for their connections. It returns false if one of them, or one of their
// connections, has an Error. Connections without a session, such as the one that asks, are left out.
func FLWCons(servers []string, timeout time.Duration) ([]*ServerClients, bool) {
	all, ok := make([]*ServerClients, len(servers)), true
	for i, server := range FormatServers(servers) {
		all[i] = &ServerClients{}
		answer, err := ask(server, "cons", timeout)
		if err != nil {
			all[i].Error, ok = err, false
			continue
		}
		for line := range strings.Lines(answer) {
			if line = strings.TrimSpace(line); line == "" || !strings.Contains(line, "sid=") {
				continue
			}
			c := parseConnection(line)
			all[i].Clients = append(all[i].Clients, c)
			ok = ok && c.Error == nil
		}
	}
	return all, ok
}

// ask sends a word and returns the answer.
func ask(server, word string, timeout time.Duration) (string, error) {
	nc, err := net.DialTimeout("tcp", server, timeout)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(nc, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(nc, wordBytesMax))
	return string(answer), err
}

// buildTimes are the formats of the build time that servers have used.
var buildTimes = []string{"01/02/2006 15:04 MST", "2006-01-02 15:04 MST", time.RFC3339}

// numbers parses the numbers of an answer and remembers the first invalid one.
type numbers struct{ err error }

func (n *numbers) read(text string, bits int) int64 {
	v, err := strconv.ParseInt(text, 0, bits)
	if u, uerr := strconv.ParseUint(text, 0, bits); err != nil && uerr == nil && strings.HasPrefix(text, "0x") {
		v, err = int64(u), nil // a negative number in hexadecimal
	}
	if err != nil && n.err == nil {
		n.err = fmt.Errorf("zk: answer of a server: %w", err)
	}
	return v
}

// parseStats reads the answer to srvr, which is lines of "Name: value".
func parseStats(answer string) (*ServerStats, error) {
	fields := map[string]string{}
	for line := range strings.Lines(answer) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			fields[name] = value
		}
	}
	version, built, ok := strings.Cut(fields["Zookeeper version"], ", built on ")
	latency := strings.Split(fields["Latency min/avg/max"], "/")
	if !ok || len(latency) != 3 {
		return nil, errors.New("zk: answer to srvr has no version or no latency")
	}
	s := &ServerStats{Version: version}
	for _, layout := range buildTimes {
		if at, err := time.Parse(layout, built); err == nil {
			s.BuildTime = at
			break
		}
	}
	if s.BuildTime.IsZero() {
		return nil, fmt.Errorf("zk: answer to srvr has the build time %q", built)
	}
	var n numbers
	s.MinLatency, s.MaxLatency = n.read(latency[0], 64), n.read(latency[2], 64)
	avg, err := strconv.ParseFloat(latency[1], 64)
	if err != nil {
		return nil, fmt.Errorf("zk: answer to srvr: %w", err)
	}
	s.AvgLatency = avg
	s.Received, s.Sent = n.read(fields["Received"], 64), n.read(fields["Sent"], 64)
	s.Connections, s.Outstanding = n.read(fields["Connections"], 64), n.read(fields["Outstanding"], 64)
	s.NodeCount = n.read(fields["Node count"], 64)
	zxid := n.read(fields["Zxid"], 64)
	s.Epoch, s.Counter = int32(zxid>>32), int32(zxid)
	for m := ModeLeader; m <= ModeStandalone; m++ {
		if fields["Mode"] == m.String() {
			s.Mode = m
		}
	}
	if n.err != nil {
		return nil, n.err
	}
	return s, nil
}

// parseConnection reads one line of the answer to cons: /address[n](key=value,...).
func parseConnection(line string) *ServerClient {
	head, list, ok := strings.Cut(line, "(")
	bracket := strings.LastIndexByte(head, '[')
	if !ok || bracket < 0 || !strings.HasSuffix(list, ")") {
		return &ServerClient{Error: fmt.Errorf("zk: answer to cons has the line %q", line)}
	}
	fields := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(list, ")"), ",") {
		key, value, _ := strings.Cut(pair, "=")
		fields[key] = value
	}
	var n numbers
	long := func(key string) int64 { return n.read(fields[key], 64) }
	short := func(key string) int32 { return int32(n.read(fields[key], 32)) }
	c := &ServerClient{Addr: strings.TrimPrefix(head[:bracket], "/"), LastOperation: fields["lop"],
		Queued: long("queued"), Received: long("recved"), Sent: long("sent"), SessionID: long("sid"),
		Lcxid: long("lcxid"), Lzxid: long("lzxid"), Timeout: short("to"), LastLatency: short("llat"),
		MinLatency: short("minlat"), AvgLatency: short("avglat"), MaxLatency: short("maxlat"),
		Established: time.UnixMilli(long("est")), LastResponse: time.UnixMilli(long("lresp"))}
	c.Error = n.err
	return c
}
