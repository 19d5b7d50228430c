package recipes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ruling is what a judge should say: nothing, or an error with a text.
type ruling struct {
	name string
	err  error
	text string
}

func requireRulings(t *testing.T, rulings []ruling) {
	t.Helper()
	for _, r := range rulings {
		if r.text == "" {
			require.NoError(t, r.err, r.name)
		} else {
			require.ErrorContains(t, r.err, r.text, r.name)
		}
	}
}

func TestJudgeBatches(t *testing.T) {
	now := time.Now()
	one := func(b Batch) error { return JudgeBatches(map[int]*Batch{7: &b}) }
	took := []Take{{5, now}}
	requireRulings(t, []ruling{
		{"consumed", one(Batch{IsPut: true, IsKnown: true, IsDone: true, Takes: took, DoneAt: 6}), ""},
		{"twice", one(Batch{IsPut: true, IsKnown: true, IsDone: true, Takes: append(took, took...), DoneAt: 6}), ""},
		{"of unknown outcome and not there", one(Batch{IsPut: true}), ""},
		{"of unknown outcome and there", one(Batch{IsPut: true, Takes: took}), ""},
		{"never put", one(Batch{}), ""},
		{"lost", one(Batch{IsPut: true, IsKnown: true}), "batch 7 was lost"},
		{"lost by a consumer", one(Batch{IsPut: true, IsKnown: true, Takes: took}), "not done"},
		{"from nowhere", one(Batch{Takes: took}), "never put"},
		{"after it was done", one(Batch{IsPut: true, IsKnown: true, IsDone: true, Takes: took, DoneAt: 4}),
			"done at 4"},
		{"due", one(Batch{IsPut: true, IsKnown: true, IsDone: true, Takes: took, Due: now}), ""},
		{"early", one(Batch{IsPut: true, IsKnown: true, IsDone: true, Takes: took, Due: now.Add(time.Nanosecond)}),
			"1ns before"},
	})
}

func TestJudgeLooks(t *testing.T) {
	requireRulings(t, []ruling{
		{"nothing was free", JudgeLooks([]Look{{"queue-1", nil}}), ""},
		{"the first", JudgeLooks([]Look{{"queue-1", []string{"queue-2", "queue-1"}}}), ""},
		{"not the first", JudgeLooks([]Look{{"queue-1", nil}, {"queue-2", []string{"queue-3", "queue-1", "queue-2"}}}),
			"queue-1 was free"},
	})
}

func TestJudgeChanges(t *testing.T) {
	known := func(value, before string, version int32, call, ret int64) Change {
		return Change{value, before, version, version - 1, Known, call, ret}
	}
	a, b, c := known("a", "", 0, 0, 1), known("b", "a", 1, 2, 3), known("c", "b", 2, 4, 5)
	lost := Change{"c", "a", 2, 0, Known, 4, 5}
	unknown, refused := Change{Value: "u", Outcome: Unknown}, Change{Value: "r", Outcome: Refused}
	requireRulings(t, []ruling{
		{"nothing", JudgeChanges(nil, nil), ""},
		{"nothing was there", JudgeChanges(nil, []Sight{{1, "", -1}}), ""},
		{"one after the other",
			JudgeChanges([]Change{a, b, c}, []Sight{{1, "", -1}, {1, "b", 1}, {2, "a", 0}, {1, "c", 2}}), ""},
		{"an unknown one in between", JudgeChanges([]Change{a, unknown, known("c", "u", 2, 4, 5)}, nil), ""},
		{"an unknown one is seen", JudgeChanges([]Change{a, unknown}, []Sight{{1, "u", 1}}), ""},
		{"a lost update", JudgeChanges([]Change{a, b, lost}, nil), "had not seen"},
		{"an update that is overwritten unseen",
			JudgeChanges([]Change{a, b, known("c", "x", 2, 4, 5), {Value: "x", Outcome: Unknown}}, nil), "both"},
		{"two of one version", JudgeChanges([]Change{a, b, known("c", "a", 1, 4, 5)}, nil), "both"},
		{"one twice", JudgeChanges([]Change{a, b, unknown}, []Sight{{1, "u", 2}, {1, "u", 3}}),
			`"u" is both version 2 and version 3`},
		{"one that was refused", JudgeChanges([]Change{a, refused}, []Sight{{1, "r", 1}}), "nobody has written"},
		{"one from nowhere", JudgeChanges([]Change{a}, []Sight{{1, "z", 1}}), "nobody has written"},
		{"back in time", JudgeChanges([]Change{a, b}, []Sight{{1, "b", 1}, {1, "a", 0}}), "after version 1"},
		{"an older version later", JudgeChanges([]Change{known("b", "a", 1, 0, 1), known("a", "", 0, 2, 3)}, nil),
			"version 1 was there at 1"},
	})
}

func TestJudgeGate(t *testing.T) {
	stands := []Stand{{10, 20}, {30, 40}}
	gate := func(call, ret int64) error {
		_, err := JudgeGate(stands, []Pass{{1, call, ret}})
		return err
	}
	requireRulings(t, []ruling{
		{"before it stood", gate(5, 15), ""},
		{"held back", gate(15, 21), ""},
		{"in the gap", gate(21, 29), ""},
		{"over the gap", gate(11, 39), ""},
		{"while it stood", gate(10, 20), "stood from 10 to 20"},
		{"while it stood again", gate(35, 36), "stood from 30 to 40"},
	})
	held, err := JudgeGate(stands, []Pass{{1, 5, 15}, {1, 15, 21}, {2, 40, 41}, {3, 41, 42}})
	require.NoError(t, err)
	require.Equal(t, 2, held)
}

func TestJudgePresence(t *testing.T) {
	lives := []Life{{"a", 5, 10, 20, 30}, {"b", 15, 0, 0, 0}}
	at := func(call, ret int64, ids ...string) error { return JudgePresence(lives, []Listing{{call, ret, ids}}) }
	requireRulings(t, []ruling{
		{"while it comes", at(6, 7, "a"), ""},
		{"while it comes and is not seen", at(9, 11), ""},
		{"while it is there", at(10, 12, "a"), ""},
		{"while it goes", at(21, 22, "a"), ""},
		{"while it goes and is not seen", at(19, 21), ""},
		{"afterwards", at(31, 32), ""},
		{"one of which nothing is sure", at(16, 17, "b", "a"), ""},
		{"too soon", at(3, 4, "a"), "came at 5"},
		{"too late", at(30, 32, "a"), "went at 30"},
		{"missing", at(10, 20, "b"), "no a, which was there from 10 to 20"},
		{"from nowhere", at(10, 20, "a", "c"), "nobody has registered"},
	})
}
