package words

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

// shownID is what the words call a session: its id if nothing can be done with that, else its label. A word is asked
// without credentials, and an id opens the session unless passwords have a secret (warren.sessionSecrets).
func (s *Reporter) shownID(id proto.SessionID) proto.SessionID {
	if !s.front.SessionIDsOpen() {
		return id
	}
	return s.front.Labels.Number(id)
}

func (s *Reporter) wordDump(_ asker, out *bytes.Buffer) {
	s.dumpSessions(out)
	out.WriteString("ephemeral nodes dump:\n")
	s.dumpEphemerals(out)
	out.WriteString("Connections dump:\n")
	all := s.front.SortedConns()
	fmt.Fprintf(out, "Connections Sets (1)/(%d):\n", len(all))
	fmt.Fprintf(out, "%d expire at %s:\n", len(all), time.Now().Add(s.Config.SessionlessTimeout).Format(dumpTime))
	for _, c := range all {
		id := proto.SessionID(0)
		if bound := c.Session.Load(); bound != nil {
			id = s.shownID(bound.ID)
		}
		fmt.Fprintf(out, "\tip: /%s sessionId: %v\n", c.Remote, id)
	}
}

// dumpTime is the format in which Java prints a Date.
const dumpTime = "Mon Jan 02 15:04:05 MST 2006"

func (s *Reporter) dumpEphemerals(out *bytes.Buffer) {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	state := s.Store.State
	owners := 0
	var list bytes.Buffer
	var path []byte
	state.EachSession(func(id proto.SessionID, _ int32) {
		first := true
		state.EachEphemeral(id, func(n datatree.NodeID) {
			if first {
				fmt.Fprintf(&list, "%v:\n", s.shownID(id))
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

// dumpSessions lists the sessions. A server that expires sessions lists them by expiry time. A learner lists the
// sessions of the ensemble with their timeouts. With local sessions, the local sessions of this server come first.
// Source: operations 2.3.
func (s *Reporter) dumpSessions(out *bytes.Buffer) {
	out.WriteString("SessionTracker dump:\n")
	now, decides := s.Clock.Now(), s.host.Rules()
	if s.Config.Distributed() && s.Config.LocalSessionsEnabled {
		s.DumpExpiries(out, "Local ", now, s.Tracker.Expiries((*sessions.Session).IsLocal))
		if decides {
			global := func(one *sessions.Session) bool { return !one.IsLocal() }
			s.DumpExpiries(out, "Global ", now, s.Tracker.Expiries(global))
		}
	} else if decides {
		s.DumpExpiries(out, "", now, s.Tracker.Expiries(func(*sessions.Session) bool { return true }))
	}
	if !decides {
		s.DumpGlobal(out)
	}
}

// DumpGlobal lists the sessions of the ensemble.
func (s *Reporter) DumpGlobal(out *bytes.Buffer) {
	type one struct {
		id        proto.SessionID
		timeoutMs int32
	}
	var all []one
	s.Store.Mu.RLock()
	s.Store.State.EachSession(func(id proto.SessionID, timeoutMs int32) {
		all = append(all, one{s.shownID(id), timeoutMs})
	})
	s.Store.Mu.RUnlock()
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.id, b.id) })
	fmt.Fprintf(out, "Global Sessions(%d):\n", len(all))
	for _, e := range all {
		fmt.Fprintf(out, "%v\t%dms\n", e.id, e.timeoutMs)
	}
}

// DumpExpiries lists sessions by the time at which they may expire, ns on the server's clock.
func (s *Reporter) DumpExpiries(out *bytes.Buffer, kind string, now int64,
	expiries map[int64][]proto.SessionID) {
	count := 0
	for _, ids := range expiries {
		count += len(ids)
	}
	fmt.Fprintf(out, "%sSession Sets (%d)/(%d):\n", kind, len(expiries), count)
	for _, expiry := range slices.Sorted(maps.Keys(expiries)) {
		ids := make([]proto.SessionID, 0, len(expiries[expiry]))
		for _, id := range expiries[expiry] {
			ids = append(ids, s.shownID(id))
		}
		at := time.Now().Add(time.Duration(expiry - now))
		fmt.Fprintf(out, "%d expire at %s:\n", len(ids), at.Format(dumpTime))
		slices.Sort(ids)
		for _, id := range ids {
			fmt.Fprintf(out, "\t%v\n", id)
		}
	}
}
