package facts

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/server/config"
)

// Servers are the servers of the configuration as they answer at their client ports.
type Servers struct {
	Servers  []ServerState `json:"servers" doc:"in the order of their ids; empty if the server stands alone"`
	Weighted bool          `json:"weighted" doc:"groups and weights decide, not a majority of voters"`
}

// ServerState is what one server says of itself.
type ServerState struct {
	ID          int64    `json:"id" doc:"myid"`
	Trouble     string   `json:"trouble" doc:"why nothing is known; empty if it has answered"`
	RoundTripMs *float64 `json:"roundTripMs" doc:"for a connection and an answer; null for the server that was asked"`
	State       string   `json:"state" doc:"leader, follower, observer or standalone"`
	Version     string   `json:"version" doc:"of the program"`
	Zxid        string   `json:"zxid" doc:"last txn that it has applied, hexadecimal"`
	Connections int64    `json:"connections" doc:"of clients"`
	Outstanding int64    `json:"outstanding" doc:"requests that it has received and not answered"`
	MeanMs      float64  `json:"meanMs" doc:"mean latency of requests"`
	UptimeMs    *int64   `json:"uptimeMs" doc:"since the process began; null if it does not tell"`
	DiskFree    *int64   `json:"diskFree" doc:"bytes, of the disk with the least room; null if it does not tell"`
}

// Bounds of asking the other servers of the ensemble.
const (
	// neighboursWait is how long a server may take, and neighbourMax how many bytes its answer may have.
	neighboursWait, neighbourMax = time.Second, 256 << 10
	// neighboursFresh is how long answers hold: visitors cannot make this server ask more often.
	neighboursFresh = 3 * time.Second
)

// neighbours asks the servers of the configuration by four-letter words at their client ports, as any monitoring does:
// servers of ZooKeeper answer, too. Only addresses of the configuration are asked, so that no visitor can send this
// server anywhere.
type neighbours struct {
	mu      sync.Mutex // held while they are asked, so that one visitor asks for all
	at      time.Time
	answers *Servers
}

// Servers is for the API.
func (n *Shown) Servers() *Servers {
	n.neighbours.mu.Lock()
	defer n.neighbours.mu.Unlock()
	if now := n.Runtime.Now(); n.neighbours.answers == nil || now.Sub(n.neighbours.at) >= neighboursFresh {
		n.neighbours.answers, n.neighbours.at = n.askServers(), now
	}
	return n.neighbours.answers
}

// askServers asks all servers at the same time.
func (n *Shown) askServers() *Servers {
	all := &Servers{Servers: []ServerState{}}
	e := n.Ensemble()
	if len(e.Members) == 0 {
		return all
	}
	ctx, cancel := context.WithTimeout(context.Background(), neighboursWait)
	defer cancel()
	q := n.Membership()
	members := q.Members
	all.Weighted = len(q.Groups) > 0
	all.Servers = make([]ServerState, len(members))
	var asked sync.WaitGroup
	for i := range members {
		s := &all.Servers[i]
		if s.ID = members[i].ID; s.ID == e.ServerID {
			n.describeSelf(s, e)
			continue
		}
		address := clientAddressOf(&members[i])
		if address == "" {
			s.Trouble = "the configuration does not tell its client port"
			continue
		}
		asked.Go(func() { askServer(ctx, address, s) })
	}
	asked.Wait()
	return all
}

// describeSelf says of this server what the others are asked.
func (n *Shown) describeSelf(s *ServerState, e *Ensemble) {
	s.State, s.Version, s.Zxid, s.Connections, s.Outstanding = e.State, e.Version, e.Zxid, int64(e.Connections),
		e.Outstanding
	s.MeanMs, s.UptimeMs = e.Latency.Mean, &e.UptimeMs
	if n.Doors.IsOpen() {
		free := n.diskFree()
		s.DiskFree = &free
	}
}

// clientAddressOf is where a server takes clients: of one that takes them at every address, where its peers find it.
// It is "" if the configuration does not tell.
func clientAddressOf(m *config.Member) string {
	if m.Client.Port == config.PortUnset {
		return ""
	}
	host := m.Client.Host
	if ip := net.ParseIP(host); (host == "" || ip != nil && ip.IsUnspecified()) && len(m.Addresses) > 0 {
		host = m.Addresses[0].Host
	}
	return net.JoinHostPort(host, strconv.Itoa(m.Client.Port))
}

// askServer asks one server srvr, which every server answers, and mntr, which it may refuse.
func askServer(ctx context.Context, address string, s *ServerState) {
	began := time.Now()
	text, err := askWord(ctx, address, "srvr")
	if err != nil {
		s.Trouble = err.Error()
		return
	}
	took := float64(time.Since(began).Microseconds()) / 1000
	if !readSrvr(text, s) {
		s.Trouble = "it runs and does not serve clients"
		return
	}
	s.RoundTripMs = &took
	if text, err = askWord(ctx, address, "mntr"); err == nil {
		readMntr(text, s)
	}
}

// askWord returns the answer to a four-letter word.
func askWord(ctx context.Context, address, word string) (string, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return "", err
	}
	defer func() { _ = nc.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(deadline)
	}
	if _, err := io.WriteString(nc, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(nc, neighbourMax))
	return string(text), err
}

// readSrvr takes what srvr tells. It reports whether the server serves.
func readSrvr(text string, s *ServerState) bool {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Zookeeper version":
			s.Version = value
		case "Latency min/avg/max":
			if parts := strings.Split(value, "/"); len(parts) == 3 {
				s.MeanMs, _ = strconv.ParseFloat(parts[1], 64)
			}
		case "Connections":
			count, _ := strconv.ParseInt(value, 10, 64)
			s.Connections = max(0, count-1) // the one that asks is none of a client
		case "Outstanding":
			s.Outstanding, _ = strconv.ParseInt(value, 10, 64)
		case "Zxid":
			s.Zxid = value
		case "Mode":
			s.State = value
		}
	}
	return s.State != ""
}

// readMntr takes what mntr tells beyond srvr.
func readMntr(text string, s *ServerState) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "\t")
		if key != "zk_uptime" {
			continue
		}
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			s.UptimeMs = &v
		}
	}
}
