package ensemble

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
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/serve"
)

// What the clients of a server do is known to that server: which session is connected, what it watches, what took long
// and what causes most work. The others ask it. What it answers opens sessions, so it is sealed: each process makes a
// key pair, and tells the public key in its record. A server seals for the key that it has found itself, at the
// address that the configuration has for the one that asks. So everybody may ask, and only that server can read it.

// HeldWord is the four-letter word that is answered by what a server knows of the clients that are connected to it,
// sealed. Behind it stand eight bytes with the id of the server that asks, two with the length of its question, and
// the question. ZooKeeper does not know it.
const HeldWord = "held"

// The questions. That for watchers goes on with the path of the znode, and that for top with its order.
const (
	askSessions = "sessions"
	askSlow     = "slow"
	askTop      = "top "
	askWatchers = "watchers "
)

// Bounds of telling: how many sessions, in how many bytes, how many questions are remembered, and how long an answer
// holds, for who asks and for who is asked, so that neither can be made to work more.
const (
	heldMax, heldBytesMax = 10_000, 8 << 20
	heldQuestions         = 64
	heldFresh             = 2 * time.Second
)

// Holding is the session of a client that is connected to a server, as one server tells it to another.
type Holding struct {
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

// Holdings is what a server tells.
type Holdings struct {
	Total    int // sessions of connected clients; more than Sessions if there are very many
	Sessions []Holding
}

// HoldingOf describes the session of a connection that has one.
func (f *Facts) HoldingOf(c *serve.Conn) Holding {
	of := facts.ConnectionOf(c)
	return Holding{ID: proto.SessionID(of.ID), Number: c.Number(), Address: of.Remote, Connected: of.Established,
		TimeoutMs: of.TimeoutMs, Secure: c.SecurePort, Received: of.Received, Sent: of.Sent,
		Outstanding: of.Outstanding, LastOp: of.LastOperation, MeanMs: of.AvgLatency, MaxMs: of.MaxLatency,
		Watches: f.front.WatchedPaths(c)}
}

// fresh are the newest answers to heldQuestions questions at most.
type fresh[K comparable, V any] struct {
	mu  sync.Mutex // held while an answer is made, so that the next one who asks has it, too
	all map[K]freshly[V]
}

type freshly[V any] struct {
	at    time.Time
	value V
}

// get returns an answer that is not old. REQUIRES: mu.
func (f *fresh[K, V]) get(key K, now time.Time) (value V, ok bool) {
	last, ok := f.all[key]
	return last.value, ok && now.Sub(last.at) < heldFresh
}

// put keeps an answer. REQUIRES: mu.
func (f *fresh[K, V]) put(key K, now time.Time, value V) {
	if len(f.all) >= heldQuestions || f.all == nil {
		f.all = map[K]freshly[V]{}
	}
	f.all[key] = freshly[V]{now, value}
}

// asking is who asks what.
type asking struct {
	id       int64
	question string
}

// answerTo answers a question about the clients of this server; nil if it is none.
func (f *Facts) answerTo(question string) any {
	switch question {
	case askSessions:
		return f.Holdings()
	case askSlow:
		return f.SlowLabelled(facts.SlowMax, true, proto.SessionID.String)
	}
	if by, ok := strings.CutPrefix(question, askTop); ok {
		return f.TopLabelled(by, facts.TopMax, true, proto.SessionID.String)
	}
	if path, ok := strings.CutPrefix(question, askWatchers); ok && paths.Valid([]byte(path)) {
		return f.WatchersOf(path, proto.SessionID.String)
	}
	return nil
}

// Holdings are the sessions of the clients of this server.
func (f *Facts) Holdings() *Holdings {
	all := Holdings{Sessions: []Holding{}}
	f.front.Conns.Each(func(c *serve.Conn) {
		if c.Session.Load() == nil {
			return
		}
		if all.Total++; len(all.Sessions) < heldMax {
			all.Sessions = append(all.Sessions, f.HoldingOf(c))
		}
	})
	return &all
}

// HeldFor answers a question about the clients of this server, sealed for a server of the ensemble; nil if its key is
// not known, or the question.
func (f *Facts) HeldFor(id int64, question string) []byte {
	f.seals.mu.Lock()
	defer f.seals.mu.Unlock()
	now := f.Runtime.Now()
	asks := asking{id, question}
	if text, ok := f.seals.get(asks, now); ok {
		return text
	}
	who, ok := f.heard()[id]
	if !ok || id == int64(f.host.ID) {
		return nil
	}
	seal, err := f.keeper.sealBetween(who.Key, nil, heldFor(int64(f.host.ID), id))
	if err != nil {
		return nil
	}
	told := f.answerTo(question)
	if told == nil {
		return nil
	}
	text := seal.Seal(nil, nil, written(told), []byte(question))
	f.seals.put(asks, now, text)
	return text
}

var errNoKey = errors.New("it has not published its key yet")

// heldFor says what the answers of server from for server to are sealed for.
func heldFor(from, to int64) string { return fmt.Sprintf("warren sessions of %d for %d", from, to) }

// sealBetween returns what seals for one purpose between this process and the one with a public key. A secret that
// both have makes sure that the other one is a server; nil if there is none.
func (k *keeper) sealBetween(other, secret []byte, purpose string) (cipher.AEAD, error) {
	public, err := ecdh.X25519().NewPublicKey(other)
	if err != nil {
		return nil, errNoKey
	}
	shared, err := k.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, shared, secret, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// ToldBy is a server that was asked about its clients.
type ToldBy struct {
	ID      int64  `json:"id" doc:"myid; -1 for a server that stands alone"`
	Trouble string `json:"trouble" doc:"why it has told nothing; empty if it has"`
}

// Told is what another server has answered.
type Told[T any] struct {
	ToldBy
	It T
}

// HeldBy is what all servers have told of their sessions.
type HeldBy struct {
	Table   []proto.SessionID // before they were asked, in order
	Servers []Told[Holdings]  // in the order of their ids, without this one
}

// IsWhole reports whether all servers have told all their sessions.
func (h *HeldBy) IsWhole() bool {
	return !slices.ContainsFunc(h.Servers, func(s Told[Holdings]) bool {
		return s.Trouble != "" || s.It.Total > len(s.It.Sessions)
	})
}

// Holders asks the other servers for their sessions.
func (f *Facts) Holders() *HeldBy {
	h := &HeldBy{}
	f.Store.Mu.RLock()
	h.Table = f.Store.State.SessionIDs()
	f.Store.Mu.RUnlock()
	slices.Sort(h.Table)
	h.Servers = askOthers[Holdings](f, askSessions)
	return h
}

// ID is the id of this server, as it is shown.
func (f *Facts) ID() int64 {
	if f.Config.Distributed() {
		return int64(f.host.ID)
	}
	return -1
}

// answer is what came of asking a server.
type answer struct {
	ToldBy
	text []byte
}

// TopOfOthers returns what causes most of the work of each other server, with ids of sessions.
func (f *Facts) TopOfOthers(by string) []Told[facts.Top] { return askOthers[facts.Top](f, askTop+by) }

// SlowOfOthers returns what took long at each other server, with ids of sessions.
func (f *Facts) SlowOfOthers() []Told[facts.Slow] { return askOthers[facts.Slow](f, askSlow) }

// WatchersOfOthers returns which clients of each other server watch a znode, with ids of sessions.
func (f *Facts) WatchersOfOthers(path string) []Told[Watchers] {
	return askOthers[Watchers](f, askWatchers+path)
}

// askOthers asks all other servers of the configuration the same, in the order of their ids.
func askOthers[T any](f *Facts, question string) []Told[T] {
	var all []Told[T]
	for _, a := range f.answersTo(question) {
		one := Told[T]{ToldBy: a.ToldBy}
		if a.Trouble == "" {
			if err := json.Unmarshal(a.text, &one.It); err != nil {
				one.Trouble, one.It = "its answer cannot be read", *new(T)
			}
		}
		all = append(all, one)
	}
	return all
}

// answersTo asks all other servers at the same time, unless it has done so a moment ago.
func (f *Facts) answersTo(question string) []answer {
	if !f.Config.Distributed() {
		return nil
	}
	f.answers.mu.Lock()
	defer f.answers.mu.Unlock()
	now := f.Runtime.Now()
	if all, ok := f.answers.get(question, now); ok {
		return all
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	var all []answer
	heard, members := f.heard(), f.Membership().Members
	for i := range members {
		if id := members[i].ID; id != int64(f.host.ID) {
			all = append(all, answer{ToldBy: ToldBy{ID: id}})
		}
	}
	slices.SortFunc(all, func(a, b answer) int { return cmp.Compare(a.ID, b.ID) })
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() {
			a := &all[i]
			at := heard[a.ID]
			var err error
			if a.text, err = f.askSealed(ctx, &at, a.ID, question); err != nil {
				a.Trouble = err.Error()
			}
		})
	}
	asked.Wait()
	f.answers.put(question, now, all)
	return all
}

// says is what this server says to another one, behind a word: its id, the length of the rest, and that, which has
// fewer than 64 KiB.
func (f *Facts) says(word, rest string) string {
	b := binary.BigEndian.AppendUint64([]byte(word), uint64(f.host.ID))
	return string(append(binary.BigEndian.AppendUint16(b, uint16(len(rest))), rest...))
}

func (f *Facts) askSealed(ctx context.Context, at *findings.Server, id int64, question string) ([]byte, error) {
	switch {
	case at.Silent != "":
		return nil, errors.New(at.Silent)
	case at.Address == "":
		return nil, errNoPort
	case at.Instance == 0:
		return nil, errors.New("it is not a Warren server, or is an older version")
	}
	seal, err := f.keeper.sealBetween(at.Key, nil, heldFor(id, int64(f.host.ID)))
	if err != nil {
		return nil, err
	}
	text, err := f.keeper.askBytes(ctx, at.Address, f.says(HeldWord, question), heldBytesMax)
	if err != nil {
		return nil, err
	}
	plain, err := seal.Open(nil, nil, text, []byte(question))
	if err != nil {
		return nil, errors.New("its answer was not for this process: one of the two has just started")
	}
	return plain, nil
}
