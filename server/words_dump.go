package server

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
)

func (s *monitor) wordDump(_ *conn, out *bytes.Buffer) {
	s.dumpSessions(out)
	out.WriteString("ephemeral nodes dump:\n")
	s.dumpEphemerals(out)
	out.WriteString("Connections dump:\n")
	all := s.front.sortedConns()
	fmt.Fprintf(out, "Connections Sets (1)/(%d):\n", len(all))
	fmt.Fprintf(out, "%d expire at %s:\n", len(all), time.Now().Add(s.cfg.SessionlessTimeout).Format(dumpTime))
	for _, c := range all {
		id := proto.SessionID(0)
		if s := c.session.Load(); s != nil {
			id = s.ID
		}
		fmt.Fprintf(out, "\tip: /%s sessionId: %v\n", c.remote, id)
	}
}

// dumpTime is how Java prints a Date.
const dumpTime = "Mon Jan 02 15:04:05 MST 2006"

func (s *monitor) dumpEphemerals(out *bytes.Buffer) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	state := s.store.state
	owners := 0
	var list bytes.Buffer
	var path []byte
	state.EachSession(func(id proto.SessionID, _ int32) {
		first := true
		state.EachEphemeral(id, func(n datatree.NodeID) {
			if first {
				fmt.Fprintf(&list, "%v:\n", id)
				first = false
				owners++
			}
			path = state.AppendPath(path[:0], n)
			fmt.Fprintf(&list, "\t%s\n", path)
		})
	})
	fmt.Fprintf(out, "Sessions with Ephemerals (%d):\n", owners)
	out.Write(list.Bytes())
}

// dumpSessions lists the sessions: who expires them does so with the time, a learner those of the ensemble with their
// timeouts. With local sessions, those of this server come first. Source: operations 2.3.
func (s *monitor) dumpSessions(out *bytes.Buffer) {
	out.WriteString("SessionTracker dump:\n")
	now, decides := s.clock.now(), s.host.rules()
	if s.cfg.Distributed() && s.cfg.LocalSessionsEnabled {
		dumpExpiries(out, "Local ", now, s.tracker.Expiries((*sessions.Session).IsLocal))
		if decides {
			global := func(one *sessions.Session) bool { return !one.IsLocal() }
			dumpExpiries(out, "Global ", now, s.tracker.Expiries(global))
		}
	} else if decides {
		dumpExpiries(out, "", now, s.tracker.Expiries(func(*sessions.Session) bool { return true }))
	}
	if !decides {
		s.dumpGlobal(out)
	}
}

// dumpGlobal lists the sessions of the ensemble.
func (s *monitor) dumpGlobal(out *bytes.Buffer) {
	type one struct {
		id        proto.SessionID
		timeoutMs int32
	}
	var all []one
	s.store.mu.RLock()
	s.store.state.EachSession(func(id proto.SessionID, timeoutMs int32) { all = append(all, one{id, timeoutMs}) })
	s.store.mu.RUnlock()
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.id, b.id) })
	fmt.Fprintf(out, "Global Sessions(%d):\n", len(all))
	for _, e := range all {
		fmt.Fprintf(out, "%v\t%dms\n", e.id, e.timeoutMs)
	}
}

// dumpExpiries lists sessions by the time at which they may expire, ns on the server's clock.
func dumpExpiries(out *bytes.Buffer, kind string, now int64, expiries map[int64][]proto.SessionID) {
	count := 0
	for _, ids := range expiries {
		count += len(ids)
	}
	fmt.Fprintf(out, "%sSession Sets (%d)/(%d):\n", kind, len(expiries), count)
	for _, expiry := range slices.Sorted(maps.Keys(expiries)) {
		ids := expiries[expiry]
		at := time.Now().Add(time.Duration(expiry - now))
		fmt.Fprintf(out, "%d expire at %s:\n", len(ids), at.Format(dumpTime))
		slices.Sort(ids)
		for _, id := range ids {
			fmt.Fprintf(out, "\t%v\n", id)
		}
	}
}
