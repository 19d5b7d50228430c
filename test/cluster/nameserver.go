package cluster

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// NameMode is how a NameServer answers.
type NameMode int

// The ways.
const (
	Answering NameMode = iota
	Mute               // not at all
	Failing            // SERVFAIL
)

// NameServer is a name server for a few names, on a loopback address of its own.
type NameServer struct {
	File string // a resolv.conf that names this server alone
	conn net.PacketConn
	mu   struct {
		sync.Mutex
		mode      NameMode
		addresses map[string]netip.Addr
	}
}

// NewNameServer starts a name server for the names of n servers, which are all at 127.0.0.1. It skips the test where
// this process may not open the port, or may not give processes a resolv.conf.
func NewNameServer(t testing.TB, n int) *NameServer {
	t.Helper()
	if os.Getuid() != 0 || exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("a resolv.conf for a process takes root")
	}
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(255), 1+rand.IntN(254))
	conn, err := net.ListenPacket("udp", net.JoinHostPort(host, "53"))
	require.NoError(t, err)
	s := &NameServer{conn: conn, File: filepath.Join(t.TempDir(), "resolv.conf")}
	require.NoError(t, os.WriteFile(s.File, []byte("nameserver "+host+"\n"), 0o644))
	s.mu.addresses = map[string]netip.Addr{}
	for id := 1; id <= n; id++ {
		s.Move(id, "127.0.0.1")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.serve()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
	return s
}

// NameOf is the name of a server.
func NameOf(id int) string { return fmt.Sprintf("zk-%d.warren.test", id) }

// Move changes the address of a server.
func (s *NameServer) Move(id int, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.addresses[NameOf(id)] = netip.MustParseAddr(addr)
}

// Become changes how queries are answered.
func (s *NameServer) Become(m NameMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.mode = m
}

func (s *NameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			_, _ = s.conn.WriteTo(reply, from) // a client that has gone asks no more
		}
	}
}

// Of a message of DNS: bytes of its head, and some codes. Source: RFC 1035, 4.1.
const (
	dnsHead       = 12
	dnsAnswer     = 0x8180 // recursion was desired and is available
	dnsServFail   = 2
	dnsNoSuchName = 3
	dnsTypeA      = 1
)

// reply answers a query with one question; nil is no answer.
func (s *NameServer) reply(query []byte) []byte {
	if len(query) < dnsHead {
		return nil
	}
	var labels []string
	end := dnsHead
	for end < len(query) && query[end] > 0 && end+1+int(query[end]) < len(query) {
		labels = append(labels, string(query[end+1:end+1+int(query[end])]))
		end += 1 + int(query[end])
	}
	end += 5 // the empty label, type and class
	if end > len(query) {
		return nil
	}
	question := query[dnsHead:end]
	s.mu.Lock()
	defer s.mu.Unlock()
	addr, ok := s.mu.addresses[strings.ToLower(strings.Join(labels, "."))]
	flags, answers := uint16(dnsAnswer), uint16(0)
	switch {
	case s.mu.mode == Mute:
		return nil
	case s.mu.mode == Failing:
		flags |= dnsServFail
	case !ok:
		flags |= dnsNoSuchName
	case binary.BigEndian.Uint16(question[len(question)-4:]) == dnsTypeA:
		answers = 1
	}
	out := append([]byte{}, query[:2]...)
	for _, field := range []uint16{flags, 1, answers, 0, 0} {
		out = binary.BigEndian.AppendUint16(out, field)
	}
	out = append(out, question...)
	if answers == 1 {
		out = append(out, 0xc0, dnsHead)                   // the name of the question
		out = append(out, 0, dnsTypeA, 0, 1, 0, 0, 0, 1)   // type, class, a second to live
		out = append(append(out, 0, 4), addr.AsSlice()...) // length and data
	}
	return out
}
