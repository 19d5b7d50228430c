package visible

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/coordination"
	"github.com/seed94657493/warren/server/internal/past"
)

// Terms says who has led an election, or held a lock, as the log of one server tells it.
type Terms struct {
	Path  string `json:"path" doc:"of the election or lock"`
	Terms []Term `json:"terms" doc:"the newest first, 200 at most"`
	From  string `json:"from" doc:"first txn that was looked at, hexadecimal; empty if there is none"`
	Cut   bool   `json:"cut" doc:"there are older terms, or older files that were not read"`
}

// Term is the time for which one znode was the first of its line.
type Term struct {
	Znode   string `json:"znode" doc:"its path"`
	Session string `json:"session" doc:"of the znode, as in sessions; empty if it is not known"`
	Text    string `json:"text" doc:"the payload, at most 200 characters of it; empty if it is not known"`
	Began   int64  `json:"began" doc:"clock of the leader of the ensemble, ms since 1970; 0 if it was before the first txn that was looked at"`
	Ended   int64  `json:"ended" doc:"as began; 0 if it lasts"`
}

// Bounds of a history of terms: of terms, of children that came and went, and of children that are there.
const termsMax, termMoves, termMembers = 200, 10_000, 1000

var termLimits = past.Limits{Bytes: historyLimits.Bytes, Time: 10 * time.Second, Versions: termMoves,
	Data: coordination.TextData, Pace: pastPace}

var errNoLine = refusal(http.StatusConflict,
	"this is no election, and no lock that one session at a time holds: there are no terms")

// contender is a znode of a line. What is not known yet is zero.
type contender struct {
	session proto.SessionID
	text    string
}

// line is the znodes of a line at a moment, by their names.
type line map[string]contender

// first returns the name of the one that holds or leads, "" if there is none.
func (l line) first() string { return coordination.First(slices.Collect(maps.Keys(l))) }

// Terms returns who has led an election, or held a lock. It needs what Past needs, because the log has znodes that
// the visitor may not have read.
func (n *Shown) Terms(ctx context.Context, a Actor, path string) (*Terms, error) {
	if err := n.needsAll(a, errNeedsAll); err != nil {
		return nil, err
	}
	now, last, err := n.lineOf(path)
	if err != nil {
		return nil, err
	}
	moves, err := readLog(ctx, n, func() (*past.Moves, error) {
		d := n.dirs()
		d.Last = last
		return past.Below(ctx, d, path, termLimits)
	})
	if err != nil {
		return nil, err
	}
	return termsOf(path, now, moves, n.front.Label)
}

// lineOf returns the ephemeral children of a znode, and the last txn that they have.
func (n *Shown) lineOf(path string) (all line, last proto.Zxid, err error) {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	id := state.Lookup([]byte(path))
	switch {
	case id == 0:
		return nil, 0, proto.ErrNoNode
	case state.Node(id).NumChildren > termMembers:
		return nil, 0, refusal(http.StatusInsufficientStorage, "this znode has too many children for that")
	}
	all = line{}
	for child := state.FirstChild(id); child != 0; child = state.NextSibling(child) {
		name := string(state.Name(child))
		if coordination.IsShared(name) {
			return nil, 0, errNoLine
		}
		all[name] = contender{state.Stat(child).EphemeralOwner, coordination.Text(state.Data(child), true)}
	}
	return all, state.LastZxid(), nil
}

// termsOf follows a line back from what it is now.
func termsOf(path string, now line, moves *past.Moves, label func(proto.SessionID) string) (*Terms, error) {
	t := &Terms{Path: path, Terms: []Term{}, Cut: moves.Cut}
	if moves.From != 0 {
		t.From = moves.From.String()
	}
	at := map[string]int{} // the newest term of a znode, in t.Terms
	first, ended := now.first(), int64(0)
	add := func(began int64) {
		switch {
		case first == "":
			return
		case len(t.Terms) == termsMax:
			t.Cut = true
			return
		}
		at[first] = len(t.Terms)
		t.Terms = append(t.Terms, Term{Znode: paths.ChildOf(path, first), Began: began, Ended: ended})
		t.Terms[at[first]].tell(now[first], label)
	}
	isLine := first != ""
	for i := range moves.All {
		m := &moves.All[i]
		if coordination.IsShared(m.Name) {
			return nil, errNoLine
		}
		before := first
		if m.Gone {
			now[m.Name] = contender{session: m.Session}
			before = line{first: {}, m.Name: {}}.first()
		} else if delete(now, m.Name); m.Name == first {
			before = now.first()
		}
		if before != first {
			isLine = true
			add(m.Time)
			first, ended = before, m.Time
		}
		if k, ok := at[m.Name]; ok && !m.Gone {
			t.Terms[k].tell(contender{m.Session, coordination.Text(m.Data, m.Size == len(m.Data))}, label)
			delete(at, m.Name)
		}
	}
	add(0)
	if !isLine {
		return nil, errNoLine
	}
	return t, nil
}

// tell says whose the term is.
func (t *Term) tell(c contender, label func(proto.SessionID) string) {
	if c.session != 0 {
		t.Session = label(c.session)
	}
	t.Text = c.text
}
