package words

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/sessions"
)

func (w *Words) dump(_ asker, out *bytes.Buffer) {
	w.dumpSessions(out)
	out.WriteString("ephemeral nodes dump:\n")
	w.dumpEphemerals(out)
	out.WriteString("Connections dump:\n")
	all := w.front.SortedConns()
	fmt.Fprintf(out, "Connections Sets (1)/(%d):\n", len(all))
	fmt.Fprintf(out, "%d expire at %s:\n", len(all), time.Now().Add(w.Config.SessionlessTimeout).Format(dumpTime))
	for _, c := range all {
		id := proto.SessionID(0)
		if bound := c.Session.Load(); bound != nil {
			id = w.shownID(bound.ID)
		}
		fmt.Fprintf(out, "\tip: /%s sessionId: %v\n", c.Remote, id)
	}
}

// dumpTime is the format in which Java prints a Date.
const dumpTime = "Mon Jan 02 15:04:05 MST 2006"

func (w *Words) dumpEphemerals(out *bytes.Buffer) {
	owners := w.Ephemerals()
	fmt.Fprintf(out, "Sessions with Ephemerals (%d):\n", len(owners))
	for _, o := range owners {
		fmt.Fprintf(out, "%v:\n", w.shownID(o.Session))
		for _, path := range o.Paths {
			fmt.Fprintf(out, "\t%s\n", path)
		}
	}
}

// dumpSessions lists the sessions. A server that expires sessions lists them by expiry time. A learner lists the
// sessions of the ensemble with their timeouts. With local sessions, the local sessions of this server come first.
// Source: operations 2.3.
func (w *Words) dumpSessions(out *bytes.Buffer) {
	out.WriteString("SessionTracker dump:\n")
	decides := w.Decides()
	dump := func(kind string, of func(*sessions.Session) bool) {
		dumpExpiries(out, kind, w.Clock.Now(), w.Tracker.Expiries(of), w.shownID)
	}
	if w.Config.Distributed() && w.Config.LocalSessionsEnabled {
		dump("Local ", (*sessions.Session).IsLocal)
		if decides {
			dump("Global ", func(one *sessions.Session) bool { return !one.IsLocal() })
		}
	} else if decides {
		dump("", func(*sessions.Session) bool { return true })
	}
	if !decides {
		dumpGlobal(out, w.GlobalSessions(), w.shownID)
	}
}

func dumpGlobal(out *bytes.Buffer, all []facts.GlobalSession, shown func(proto.SessionID) proto.SessionID) {
	for i := range all {
		all[i].ID = shown(all[i].ID)
	}
	slices.SortFunc(all, func(a, b facts.GlobalSession) int { return cmp.Compare(a.ID, b.ID) })
	fmt.Fprintf(out, "Global Sessions(%d):\n", len(all))
	for _, e := range all {
		fmt.Fprintf(out, "%v\t%dms\n", e.ID, e.TimeoutMs)
	}
}

// dumpExpiries lists sessions by the time at which they may expire, ns on the server's clock.
func dumpExpiries(out *bytes.Buffer, kind string, now int64, expiries map[int64][]proto.SessionID,
	shown func(proto.SessionID) proto.SessionID) {
	count := 0
	for _, ids := range expiries {
		count += len(ids)
	}
	fmt.Fprintf(out, "%sSession Sets (%d)/(%d):\n", kind, len(expiries), count)
	for _, expiry := range slices.Sorted(maps.Keys(expiries)) {
		ids := make([]proto.SessionID, 0, len(expiries[expiry]))
		for _, id := range expiries[expiry] {
			ids = append(ids, shown(id))
		}
		at := time.Now().Add(time.Duration(expiry - now))
		fmt.Fprintf(out, "%d expire at %s:\n", len(ids), at.Format(dumpTime))
		slices.Sort(ids)
		for _, id := range ids {
			fmt.Fprintf(out, "\t%v\n", id)
		}
	}
}
