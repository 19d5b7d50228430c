package facts

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Which server holds which session. The table of sessions is replicated; the connections of clients are known to the
// server that has them, and the others ask it. What it answers opens sessions, so it is sealed: each process makes a
// key pair, and tells the public key in its record. A server seals for the key that it has found itself, at the
// address that the configuration has for the one that asks. So everybody may ask, and only that server can read it.

// HeldWord is the four-letter word that is answered by the sealed sessions of clients that are connected here. Behind
// it stand eight bytes with the id of the server that asks. ZooKeeper does not know it.
const HeldWord = "held"

// Bounds of telling sessions: how many, in how many bytes, and how long an answer holds, for who asks and for who is
// asked, so that neither can be made to work more.
const (
	heldMax, heldBytesMax = 10_000, 8 << 20
	heldFresh             = 2 * time.Second
)

// holding is the session of a client that is connected to a server, as one server tells it to another.
type holding struct {
	ID          proto.SessionID
	Number      uint64 // of the connection
	Address     string
	Connected   int64
	TimeoutMs   int32
	Secure      bool
	Received    int64
	Sent        int64
	Outstanding int
	LastOp      string
	MeanMs      int64
	MaxMs       int64
	Watches     int
}

// holdings is what a server tells.
type holdings struct {
	Total    int // sessions of connected clients; more than Sessions if there are very many
	Sessions []holding
}

// holdingOf describes the session of a connection that has one.
func (f *Facts) holdingOf(c *serve.Conn) holding {
	of := ConnectionOf(c)
	return holding{ID: proto.SessionID(of.ID), Number: c.Number(), Address: of.Remote, Connected: of.Established,
		TimeoutMs: of.TimeoutMs, Secure: c.SecurePort, Received: of.Received, Sent: of.Sent,
		Outstanding: of.Outstanding, LastOp: of.LastOperation, MeanMs: of.AvgLatency, MaxMs: of.MaxLatency,
		Watches: f.front.WatchedPaths(c)}
}

// seals are the answers that were sealed last, by the server that has asked.
type seals struct {
	mu  sync.Mutex // held while one is made
	own map[int64]sealed
}

type sealed struct {
	at   time.Time
	text []byte
}

// HeldFor returns the sessions of the clients of this server, sealed for a server of the ensemble; nil if its key is
// not known.
func (f *Facts) HeldFor(id int64) []byte {
	f.seals.mu.Lock()
	defer f.seals.mu.Unlock()
	now := f.Runtime.Now()
	if last, ok := f.seals.own[id]; ok && now.Sub(last.at) < heldFresh {
		return last.text
	}
	asks, ok := f.heard()[id]
	if !ok || id == int64(f.host.ID) {
		return nil
	}
	seal, err := f.keeper.sealBetween(asks.Key, int64(f.host.ID), id)
	if err != nil {
		return nil
	}
	all := holdings{Sessions: []holding{}}
	f.front.Conns.Each(func(c *serve.Conn) {
		if c.Session.Load() == nil {
			return
		}
		if all.Total++; len(all.Sessions) < heldMax {
			all.Sessions = append(all.Sessions, f.holdingOf(c))
		}
	})
	text, err := json.Marshal(all)
	if err != nil {
		panic("facts: a record of this package cannot be written: " + err.Error())
	}
	text = seal.Seal(nil, nil, text, nil)
	if f.seals.own == nil {
		f.seals.own = map[int64]sealed{}
	}
	f.seals.own[id] = sealed{now, text} // one for each server of the configuration at most
	return text
}

var errNoKey = errors.New("it has not told its key yet")

// sealBetween returns what seals the sessions that server from tells to server to, of which this process is one and
// the other has a public key.
func (k *keeper) sealBetween(other []byte, from, to int64) (cipher.AEAD, error) {
	public, err := ecdh.X25519().NewPublicKey(other)
	if err != nil {
		return nil, errNoKey
	}
	shared, err := k.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, shared, nil, fmt.Sprintf("warren sessions of %d for %d", from, to), 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// heldBy is what all servers have told of their sessions.
type heldBy struct {
	at      time.Time
	table   []proto.SessionID // before they were asked, in order
	servers []heldByOne       // in the order of their ids, without this one
}

// heldByOne is what one server has told.
type heldByOne struct {
	id      int64
	trouble string // why nothing is known; "" if it has answered
	holdings
}

// isWhole reports whether all servers have told all their sessions.
func (h *heldBy) isWhole() bool {
	return !slices.ContainsFunc(h.servers, func(s heldByOne) bool {
		return s.trouble != "" || s.Total > len(s.Sessions)
	})
}

// holders asks the other servers, unless it has done so a moment ago.
func (n *Shown) holders() *heldBy {
	n.held.mu.Lock()
	defer n.held.mu.Unlock()
	now := n.Runtime.Now()
	if n.held.last != nil && now.Sub(n.held.last.at) < heldFresh {
		return n.held.last
	}
	h := &heldBy{at: now}
	n.Store.Mu.RLock()
	n.Store.State.EachSession(func(id proto.SessionID, _ int32) { h.table = append(h.table, id) })
	n.Store.Mu.RUnlock()
	if n.Config.Distributed() {
		n.askHolders(h)
	}
	n.held.last = h
	return h
}

// askHolders asks all other servers of the configuration at the same time.
func (n *Shown) askHolders(h *heldBy) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	heard, members := n.heard(), n.Membership().Members
	for i := range members {
		if id := members[i].ID; id != int64(n.host.ID) {
			h.servers = append(h.servers, heldByOne{id: id})
		}
	}
	slices.SortFunc(h.servers, func(a, b heldByOne) int { return cmp.Compare(a.id, b.id) })
	var asked sync.WaitGroup
	for i := range h.servers {
		asked.Go(func() {
			s := &h.servers[i]
			at := heard[s.id]
			if err := n.askHolder(ctx, &at, s); err != nil {
				s.trouble, s.holdings = err.Error(), holdings{}
			}
		})
	}
	asked.Wait()
}

// askHolder asks one server.
func (n *Shown) askHolder(ctx context.Context, at *findings.Server, s *heldByOne) error {
	switch {
	case at.Silent != "":
		return errors.New(at.Silent)
	case at.Address == "":
		return errors.New("its client port is not known")
	case at.Instance == 0:
		return errors.New("it is no server of Warren, or one of an older version")
	}
	seal, err := n.keeper.sealBetween(at.Key, s.id, int64(n.host.ID))
	if err != nil {
		return err
	}
	own := binary.BigEndian.AppendUint64(nil, uint64(n.host.ID))
	text, err := askBytes(ctx, at.Address, HeldWord+string(own), heldBytesMax)
	if err != nil {
		return err
	}
	plain, err := seal.Open(nil, nil, text, nil)
	if err != nil {
		return errors.New("its answer was not for this process: one of the two has just started")
	}
	return json.Unmarshal(plain, &s.holdings)
}
