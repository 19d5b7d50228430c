package embed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Stop ends a server as an operator does: it hands over its leadership, finishes the requests that it has
// received, and closes every connection. Like Kill and PowerLoss it does nothing if the server is down.
func (e *Ensemble) Stop(id int) { e.member(id).stop() }

// Kill ends a server as SIGKILL does: connections end, no more requests are answered, and all written data is on
// the disk.
func (e *Ensemble) Kill(id int) { e.member(id).kill(unsyncedAll) }

// PowerLoss ends a server as a loss of power does: of the data that was not synced only a part is on the disk,
// drawn block by block. With Options.Dir it is Kill. Isolate the server first if the others must not see its
// connections end.
func (e *Ensemble) PowerLoss(id int) { e.member(id).kill(unsyncedSome) }

const unsyncedSome = 50

// Start brings back a server that is down, on its old disk and client address. It does not wait until the server
// serves, and does nothing if the server runs.
func (e *Ensemble) Start(id int) error { return e.member(id).start() }

// Restart is Stop and Start.
func (e *Ensemble) Restart(id int) error {
	e.Stop(id)
	return e.Start(id)
}

// Wipe empties the disk, in memory, of a server that is down: it has lost all its data, and must not vote before
// it has learned them from the others.
func (e *Ensemble) Wipe(id int) error { return e.member(id).wipe() }

// Partition splits the network between the servers: only servers of one group reach each other. A server in no group
// is alone. It replaces earlier partitions and cuts.
func (e *Ensemble) Partition(groups ...[]int) {
	together := map[int]int{}
	for g, ids := range groups {
		for _, id := range ids {
			together[e.member(id).id] = g + 1
		}
	}
	e.network.change(func() {
		clear(e.network.cuts)
		for _, a := range e.IDs() {
			for _, b := range e.IDs() {
				if a != b && (together[a] == 0 || together[a] != together[b]) {
					e.network.cuts[way{a, b}] = true
				}
			}
		}
	})
}

// Isolate cuts a server off from all other servers, both ways. Its clients still reach it.
func (e *Ensemble) Isolate(id int) {
	e.member(id)
	e.network.change(func() {
		for _, other := range e.IDs() {
			if other != id {
				e.network.cuts[way{id, other}], e.network.cuts[way{other, id}] = true, true
			}
		}
	})
}

// OneWay cuts the direction between two servers: nothing that from sends reaches to.
func (e *Ensemble) OneWay(from, to int) {
	w := way{e.member(from).id, e.member(to).id}
	e.network.change(func() { e.network.cuts[w] = true })
}

// Delay makes everything that one server sends to another arrive later by d.
func (e *Ensemble) Delay(from, to int, d time.Duration) {
	w := way{e.member(from).id, e.member(to).id}
	e.network.change(func() { e.network.lags[w] = d })
}

// RefuseClients ends all client connections of a server and refuses new ones, until Heal.
func (e *Ensemble) RefuseClients(id int) {
	e.member(id).door.refuse(true)
	e.CutClients(id)
}

// CutClients ends all client connections of a server at once. New ones are accepted.
func (e *Ensemble) CutClients(id int) {
	if s := e.Server(id); s != nil {
		s.CutClients()
	}
}

// Heal ends everything that Partition, Isolate, OneWay, Delay and RefuseClients have done. Delayed data arrives.
func (e *Ensemble) Heal() {
	e.network.change(func() {
		clear(e.network.cuts)
		clear(e.network.lags)
	})
	for _, m := range e.members {
		m.door.refuse(false)
	}
}

// ExpireSession ends a session as if its client had been silent for its timeout. It returns when the session is
// no longer in the leader's state. If there is no such session the error is proto.ErrSessionExpired.
func (e *Ensemble) ExpireSession(ctx context.Context, id proto.SessionID) error {
	asked := false
	return poll(ctx, "the end of a session", func() (bool, error) {
		leader := e.leads()
		if leader == 0 {
			return false, nil
		}
		s := e.Server(leader)
		if s == nil {
			return false, nil
		}
		switch err := s.ExpireSession(id); {
		case err == nil: // a server that has just become the leader is asked, too
			asked = true
		case !errors.Is(err, proto.ErrSessionExpired):
		case asked:
			return true, nil
		default:
			return false, fmt.Errorf("embed: ending session %v: %w", id, err)
		}
		return false, nil
	})
}
