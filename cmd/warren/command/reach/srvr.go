package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
)

// Status is what a server answers to srvr; warren status adds Lag, the room on the disk, Drained and Problem, and
// prints it as one row of its table.
type Status struct {
	Address     string     `json:"address"`
	Role        string     `json:"role,omitempty"` // leader, follower, observer, standalone, read-only, outside
	Zxid        proto.Zxid `json:"-"`
	ZxidText    string     `json:"zxid,omitempty"`
	Epoch       int64      `json:"epoch"` // of the last txn: that of the leader is larger until it has proposed one
	Lag         *int64     `json:"lag"`   // txns behind the leader; null if that cannot be told
	Connections int64      `json:"connections"`
	Outstanding int64      `json:"outstanding"`
	Znodes      int64      `json:"znodes"`
	LatencyMs   [3]float64 `json:"latency_ms"`           // least, mean, most
	DiskFree    *int64     `json:"disk_free_bytes"`      // of the disk with the least room; null if it is not told
	DiskFullIn  *int64     `json:"disk_full_in_seconds"` // null if it is not foreseen within 30 days
	Drained     bool       `json:"drained"`              // it takes no clients, because an operator drains it
	// LeavesClients is true for a leader that leaves clients to the other servers, and does not answer srvr: Znodes
	// and LatencyMs are not known.
	LeavesClients bool   `json:"leaves_clients"`
	Version       string `json:"version,omitempty"`
	Program       string `json:"program,omitempty"` // Warren or ZooKeeper, with its version; empty if that is not known
	Problem       string `json:"problem,omitempty"`
}

// WordMax bounds the answer to a four-letter word, in bytes.
const WordMax = 1 << 20

// Ask asks the server at s.Address the word srvr, at a TLS port if secure is not nil.
func (s *Status) Ask(ctx context.Context, timeout time.Duration, secure *tls.Config) error {
	text, err := doctor.AskWord(ctx, s.Address, "srvr", timeout, secure, WordMax)
	switch {
	case err != nil:
		return err
	case text == "":
		return doctor.ErrNoAnswer
	}
	return s.Parse(text)
}

// ErrNotServing is what a server says that has no leader, or is starting.
var ErrNotServing = errors.New("does not serve: it has no leader, or is starting")

// Parse reads the answer to srvr. Source: operations 2.3.
func (s *Status) Parse(text string) error {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(wording.Safe(strings.TrimSpace(line)), ": ")
		if !ok {
			continue
		}
		switch key {
		case "Zookeeper version":
			s.Version, _, _ = strings.Cut(value, ",")
		case "Latency min/avg/max":
			for i, part := range strings.SplitN(value, "/", 3) {
				s.LatencyMs[i], _ = strconv.ParseFloat(part, 64)
			}
		case "Connections":
			s.Connections, _ = strconv.ParseInt(value, 10, 64)
		case "Outstanding":
			s.Outstanding, _ = strconv.ParseInt(value, 10, 64)
		case "Node count":
			s.Znodes, _ = strconv.ParseInt(value, 10, 64)
		case "Zxid":
			z, err := strconv.ParseInt(strings.TrimPrefix(value, "0x"), 16, 64)
			if err != nil {
				return fmt.Errorf("answers zxid %q", value)
			}
			s.Zxid, s.ZxidText, s.Epoch = proto.Zxid(z), value, proto.Zxid(z).Epoch()
		case "Mode":
			s.Role = value
		}
	}
	if s.Role == "" {
		if strings.Contains(text, "not currently serving") {
			return ErrNotServing
		}
		return fmt.Errorf("answers srvr with %.60q", text)
	}
	return nil
}
