package visible

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/past"
	"github.com/seed94657493/warren/test/must"
)

// The terms of an election follow from what is there now, and from who came and went.
func TestTerms(t *testing.T) {
	label := func(id proto.SessionID) string { return fmt.Sprint("s", int64(id)) }
	came := func(at int64, name string, session proto.SessionID, data string) past.Move {
		return past.Move{Name: name, Zxid: proto.Zxid(at), Time: at, Session: session, Data: []byte(data),
			Size: len(data)}
	}
	gone := func(at int64, name string, session proto.SessionID) past.Move {
		return past.Move{Name: name, Gone: true, Zxid: proto.Zxid(at), Time: at, Session: session}
	}
	newestFirst := func(all ...past.Move) *past.Moves {
		slices.Reverse(all)
		return &past.Moves{All: all, From: 1}
	}
	const a, b, c, d = "a-latch-0000000001", "b-latch-0000000002", "c-latch-0000000003", "d-latch-0000000004"
	for name, tt := range map[string]struct {
		now   line
		moves *past.Moves
		want  []string // session, text, began, ended
	}{
		"one that leads since before": {line{a: {1, "x"}}, newestFirst(), []string{"s1 x 0 0"}},
		"one after the other, with one that waits in vain": {line{d: {4, "d"}},
			newestFirst(came(10, a, 1, "a"), came(11, b, 2, "b"), came(12, c, 3, "c"), gone(13, b, 2), gone(20, a, 0),
				gone(30, c, 3), came(40, d, 4, "d")),
			[]string{"s4 d 40 0", "s3 c 20 30", "s1 a 10 20"}},
		"a leader of before of which only the end is known": {line{}, newestFirst(gone(5, a, 1)), []string{"s1  0 5"}},
		"one of before that was deleted by a request": {line{c: {3, "c"}},
			newestFirst(gone(5, a, 0), came(6, "other", 9, "")), []string{"s3 c 5 0", "  0 5"}},
		"a lock of kazoo": {line{}, newestFirst(came(5, "f__lock__0000000001", 1, "k"), came(6, "lease", 2, ""),
			gone(7, "f__lock__0000000001", 1)), []string{"s1 k 5 7"}},
	} {
		got, err := termsOf("/e", tt.now, tt.moves, label)
		require.NoError(t, err, name)
		require.Equal(t, "0x1", got.From)
		var lines []string
		for _, term := range got.Terms {
			lines = append(lines, fmt.Sprintf("%s %s %d %d", term.Session, term.Text, term.Began, term.Ended))
		}
		require.Equal(t, tt.want, lines, name)
	}
	for name, moves := range map[string]*past.Moves{"a queue": newestFirst(came(5, "qn-0000000001", 1, "")),
		"readers": newestFirst(came(5, "f__rlock__0000000001", 1, ""), came(6, "f__lock__0000000002", 1, ""))} {
		require.ErrorIs(t, must.Err(termsOf("/q", line{}, moves, label)), errNoLine, name)
	}

	var many []past.Move
	for i := range int64(2 * termsMax) {
		name := fmt.Sprintf("x-lock-%010d", i)
		many = append(many, came(2*i, name, 7, "x"), gone(2*i+1, name, 7))
	}
	got := must.Do(termsOf("/l", line{}, newestFirst(many...), label))(t)
	require.True(t, got.Cut)
	require.Len(t, got.Terms, termsMax)
	require.Equal(t, Term{Znode: "/l/x-lock-0000000399", Session: "s7", Text: "x", Began: 798, Ended: 799},
		got.Terms[0])
}
