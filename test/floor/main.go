// Command floor is one server of an ensemble that does nothing: the practical limit for the benchmarks of an ensemble
// on a machine. It answers the bytes that a server with 128-byte znodes would. What is written is forwarded to the
// leader, broadcast, appended to a file on every server with one fdatasync for whatever has gathered, acknowledged,
// committed by two of three and answered in the client's order; but there is no tree, no session, no election and no
// recovery.
//
//	floor -id 1 -clients :21811,:21812,:21813 -peers :28881,:28882,:28883 -dir DIR
//
// Server 1 leads. The load is warren bench's.
package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	id := flag.Int("id", 1, "this server, from 1")
	clients := flag.String("clients", "", "addresses for clients, of all servers")
	peers := flag.String("peers", "", "addresses for servers, of all servers")
	dir := flag.String("dir", ".", "where the file is written")
	flag.Parse()
	s := &server{id: *id, conns: map[uint32]*conn{}, work: make(chan struct{}, 1)}
	s.acked = make([]uint64, len(strings.Split(*peers, ",")))
	f, err := os.OpenFile(filepath.Join(*dir, "floor"+strconv.Itoa(*id)), os.O_RDWR|os.O_CREATE, 0o644)
	check(err)
	_, err = f.WriteAt(make([]byte, fileSize), 0) // as a log: later writes change no metadata
	check(err)
	check(f.Sync())
	go s.journal(f)
	if s.id == 1 {
		s.lead(strings.Split(*peers, ",")[0])
	} else {
		s.follow(strings.Split(*peers, ",")[0])
	}
	l, err := net.Listen("tcp", strings.Split(*clients, ",")[s.id-1])
	check(err)
	for n := uint32(1); ; n++ {
		nc, err := l.Accept()
		check(err)
		c := &conn{id: n, nc: nc}
		s.mu.Lock()
		s.conns[n] = c
		s.mu.Unlock()
		go s.serve(c)
	}
}

// fileSize is how much is written before the file is used from its beginning again.
const fileSize = 64 << 20

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A write on its way: [len u32][origin u32][conn u32][xid u32][op u32][body]; len is that of what follows it.
const writeHead = 20

// server is one server. mu guards everything behind it.
type server struct {
	id   int
	work chan struct{} // the journal has something to do

	mu    sync.Mutex
	conns map[uint32]*conn
	links []*link
	acked []uint64 // by server: how many writes it has on disk
	// todo are writes that are not on disk; order are those of this server's clients that are not committed, each
	// with its number.
	todo      []byte
	sequence  uint64 // of the last write in todo
	committed uint64
	order     []own
}

type own struct {
	n    uint64
	conn *conn
	xid  uint32
	op   uint32
}

// link is the connection to another server; a packet is [len u32][kind u8][rest].
type link struct {
	nc  net.Conn
	mu  sync.Mutex
	out []byte
	// writing is set while a goroutine writes; it also writes what comes meanwhile.
	writing bool
}

const (
	kindRequests = iota // writes, to the leader
	kindPropose         // writes in their order, to the followers
	kindAck             // u64: all up to here are on disk
	kindCommit          // u64: all up to here are committed
)

func (l *link) send(kind byte, rest []byte) {
	l.mu.Lock()
	l.out = binary.BigEndian.AppendUint32(l.out, uint32(1+len(rest)))
	l.out = append(append(l.out, kind), rest...)
	if l.writing {
		l.mu.Unlock()
		return
	}
	l.writing = true
	var b []byte
	for len(l.out) > 0 {
		b, l.out = l.out, b[:0]
		l.mu.Unlock()
		_, err := l.nc.Write(b)
		check(err)
		l.mu.Lock()
	}
	l.writing = false
	l.mu.Unlock()
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// lead waits for all followers.
func (s *server) lead(addr string) {
	l, err := net.Listen("tcp", addr)
	check(err)
	for i := 1; i < len(s.acked); i++ {
		nc, err := l.Accept()
		check(err)
		p := &link{nc: nc}
		s.links = append(s.links, p)
		go s.receive(p, i)
	}
}

func (s *server) follow(addr string) {
	for {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			p := &link{nc: nc}
			s.links = []*link{p}
			go s.receive(p, 0)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// receive takes what comes on a link, from server number from.
func (s *server) receive(l *link, from int) {
	r := bufio.NewReaderSize(l.nc, 256<<10)
	var head [4]byte
	var b []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			os.Exit(0)
		}
		b = slices.Grow(b[:0], int(binary.BigEndian.Uint32(head[:])))[:binary.BigEndian.Uint32(head[:])]
		_, err := io.ReadFull(r, b)
		check(err)
		switch b[0] {
		case kindRequests:
			s.propose(b[1:])
		case kindPropose:
			s.queue(b[1:])
		case kindAck:
			s.ack(from, binary.BigEndian.Uint64(b[1:]))
		case kindCommit:
			s.mu.Lock()
			s.commit(binary.BigEndian.Uint64(b[1:]))
		}
	}
}

// propose is the leader's: it gives writes their place and tells the followers.
func (s *server) propose(writes []byte) {
	s.mu.Lock()
	s.append(writes)
	for _, l := range s.links {
		l.send(kindPropose, writes)
	}
	s.mu.Unlock()
	s.wake()
}

// queue is a follower's.
func (s *server) queue(writes []byte) {
	s.mu.Lock()
	s.append(writes)
	s.mu.Unlock()
	s.wake()
}

func (s *server) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// append gives writes to the journal, and remembers which clients to answer. REQUIRES: s.mu.
func (s *server) append(writes []byte) {
	s.todo = append(s.todo, writes...)
	for len(writes) > 0 {
		s.sequence++
		n := 4 + binary.BigEndian.Uint32(writes)
		if binary.BigEndian.Uint32(writes[4:]) == uint32(s.id) {
			s.order = append(s.order,
				own{s.sequence, s.conns[binary.BigEndian.Uint32(writes[8:])], binary.BigEndian.Uint32(writes[12:]),
					binary.BigEndian.Uint32(writes[16:])})
		}
		writes = writes[n:]
	}
}

// journal puts what has gathered on disk.
func (s *server) journal(f *os.File) {
	var b []byte
	var at int64
	for range s.work {
		s.mu.Lock()
		b, s.todo = s.todo, b[:0]
		last := s.sequence
		s.mu.Unlock()
		if len(b) == 0 {
			continue
		}
		if at+int64(len(b)) > fileSize {
			at = 0
		}
		_, err := f.WriteAt(b, at)
		check(err)
		at += int64(len(b))
		check(unix.Fdatasync(int(f.Fd())))
		if s.id == 1 {
			s.ack(0, last)
		} else {
			s.links[0].send(kindAck, number(last))
		}
	}
}

// ack is the leader's: server number from has all writes up to n on disk.
func (s *server) ack(from int, n uint64) {
	s.mu.Lock()
	s.acked[from] = max(s.acked[from], n)
	all := slices.Clone(s.acked)
	slices.Sort(all)
	n = all[(len(all)-1)/2]
	if n <= s.committed {
		s.mu.Unlock()
		return
	}
	for _, l := range s.links {
		l.send(kindCommit, number(n))
	}
	s.commit(n)
}

// commit answers all writes up to n. It releases s.mu, which it REQUIRES.
func (s *server) commit(n uint64) {
	s.committed = max(s.committed, n)
	k := 0
	for k < len(s.order) && s.order[k].n <= n {
		k++
	}
	done := slices.Clone(s.order[:k])
	s.order = slices.Delete(s.order, 0, k)
	s.mu.Unlock()
	for i := range done {
		done[i].conn.written(done[i].xid, done[i].op)
	}
	for i := range done {
		done[i].conn.flush()
	}
}
