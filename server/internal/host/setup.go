package host

import (
	"context"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/zab"
)

// Network replaces functions of package net between the servers of an ensemble, where a field is not nil. See
// peers.Config.
type Network struct {
	Resolve func(ctx context.Context, host string) ([]string, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Listen  func(network, address string) (net.Listener, error)
}

// coreTick is the length of one tick of the core.
const coreTick = 10 * time.Millisecond

// setup is the configuration of this server and its data directory, in the terms of the agreement. It does not change,
// and any goroutine may use it. A member's configuration may be another one by now: see ensembles.
type setup struct {
	*env.Env
	Disk    *durable.Disk
	network Network // Options.ResolvePeer, DialPeer and ListenPeer
}

// configurations returns the configuration that was committed last, as far as this server knows, and the one after
// it in its history, which may or may not be committed; nil if there is none.
func (s *setup) configurations() (active, next *zab.Ensemble, err error) {
	active, err = ensembleOf(&s.Config.Quorum)
	if err != nil || !s.Config.ReconfigEnabled {
		return active, nil, err
	}
	kept, known := s.Disk.Meta.Config()
	if known && kept.Version >= active.Version {
		q, err := config.ParseMembers([]byte(kept.Text))
		if err != nil {
			return nil, nil, fmt.Errorf("server: the configuration in meta.db: %w", err)
		}
		q.ConfigVersion = int64(kept.Version)
		if q.Text() != s.Config.Quorum.Text() {
			s.Log.Warn("ignoring the servers named in the configuration files: the ensemble has agreed on others",
				zap.Stringer("version", kept.Version),
				zap.Strings("ensemble", q.Lines()), zap.Strings("files", s.Config.Lines()))
		}
		if active, err = ensembleOf(q); err != nil {
			return nil, nil, err
		}
	} else if active.Version > 0 {
		if err := s.Disk.KeepConfiguration(active); err != nil {
			return nil, nil, err
		}
	}
	// A txn is logged only after the configuration under which it was agreed is stored in meta.db. So if meta.db
	// has none, the state comes from elsewhere, for example a backup of another ensemble, and says nothing about
	// this ensemble.
	if next = newestConfiguration(s.Store.State); next != nil && (!known || next.Version <= active.Version) {
		next = nil
	}
	return active, next, nil
}

// QuorumWith is the configuration of this server with the members of an ensemble. ensembleOf has made the text of
// e.
func (s *setup) QuorumWith(e *zab.Ensemble) *config.Quorum {
	q, err := config.ParseMembers(e.Text)
	if err != nil {
		panic(fmt.Sprintf("server: configuration %v: %v", e.Version, err))
	}
	q.ConfigVersion = int64(e.Version)
	return s.Config.Quorum.With(q)
}

// configurationOf returns the configuration that a reconfiguration asks for.
func (s *setup) configurationOf(r *proto.ReconfigRequest) (q *config.Quorum, err error) {
	if r.NewMembers != nil {
		q, err = config.Replaced(r.NewMembers.String())
	} else {
		q, err = s.Membership().Changed(r.JoiningServers.String(), r.LeavingServers.String())
	}
	if err == nil {
		err = s.Config.Quorum.Permits(q)
	}
	return q, err
}

// barrier is the txn without effect that proves that the followers have logged all txns before it. Source:
// quorum-protocol 14.3 R7.
func (s *setup) barrier(z proto.Zxid) []byte {
	return prepare.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: s.Clock.WallMs()}, proto.OK)
}

// coreTiming is the configured times, in ticks of the core.
func (s *setup) coreTiming() zab.Timing {
	q := &s.Config.Quorum
	ticks := func(d time.Duration) int { return max(int(d/coreTick), 1) }
	t := zab.DefaultTiming()
	t.Tick = coreTick
	t.TickTime = max(ticks(s.Config.TickTime), 2)
	t.InitLimit, t.SyncLimit = max(q.InitLimit, 1), max(q.SyncLimit, 1)
	t.ResendMin = ticks(q.MinNotificationInterval)
	t.ResendMax = max(ticks(q.MaxNotificationInterval), t.ResendMin)
	// Without a lease the leader and its learners take no new clients, so a leader that hears of no quorum need not
	// wait longer. A pause of the process below quorumMin is no reason to give up.
	t.QuorumLimit = ticks(max(s.Config.LeaseTime()+s.Config.TickTime/2, quorumMin))
	t.DialPause = ticks(q.LeaderConnectDelay)
	t.DialAttempts = max(ticks(dialTime)/t.DialPause, dialsMin)
	// A leader to which no way leads is left before long, unless the operator has set a limit of its own.
	if t.DialLimit = q.ConnectToLearnerMasterLimit; t.DialLimit >= t.InitLimit {
		t.DialLimit = min(t.InitLimit, int((dialMax+s.Config.TickTime-1)/s.Config.TickTime))
	}
	t.ObserverDialPause, t.ObserverLookPause = int(q.ObserverReconnectDelay/coreTick),
		int(q.ObserverElectionDelay/coreTick)
	if q.MaxTimeToWaitForEpoch >= 0 {
		t.EpochWait = ticks(q.MaxTimeToWaitForEpoch)
	}
	return t
}

// masterQueue is how many bytes may wait for an observer.
func (s *setup) masterQueue() int {
	return max(int(s.Config.Quorum.ObserverMasterSizeLimit), masterQueueMin)
}

// remember keeps the addresses of other servers for the next start, which may happen while the name server is away.
func (s *setup) remember(known map[string][]string) {
	if err := s.Disk.Meta.SetAddresses(known); err != nil {
		s.Log.Warn("cannot save the addresses of the other servers, which the next start needs if names do not "+
			"resolve", zap.Error(err))
	}
}

// A leader is dialled for dialTime, but at least dialsMin times, however long the pauses are. Source:
// quorum-protocol 1.5.
const (
	dialTime = time.Second
	dialsMin = 5
	// dialMax bounds attempts that are not answered: TCP has repeated the first packet once by then.
	dialMax = 1500 * time.Millisecond
)

// quorumMin bounds from below how long a leader waits for a quorum to be heard of.
const quorumMin = time.Second

// masterQueueMin is the least effective value of observerMaster.sizeLimit, in bytes: a snapshot must fit in while
// it is sent.
const masterQueueMin = 1 << 20
