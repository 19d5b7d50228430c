package recipes

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name string
		ops  []Operation
		text string // of the breach
	}{
		{"nothing", nil, ""},
		{"one after the other",
			[]Operation{op(Grant, 1, 10, 0, 1), op(Use, 1, 10, 2, 3), op(End, 1, 10, 4, never), op(Grant, 2, 11, 0, 5),
				op(Use, 2, 11, 6, 7)}, ""},
		{"the end is seen late", []Operation{op(Grant, 1, 10, 0, 1), op(End, 1, 10, 2, never), op(Grant, 2, 11, 1, 3),
			op(End, 2, 11, 8, never)}, ""},
		{"at the same moment",
			[]Operation{op(Grant, 1, 10, 0, 1), op(Use, 1, 10, 2, 5), op(End, 1, 10, 6, never),
				op(Grant, 2, 11, 0, 7)}, ""},
		{"a use after the next grant", []Operation{op(Grant, 1, 10, 0, 1), op(Grant, 2, 11, 0, 3),
			op(Use, 1, 10, 4, 5), op(End, 1, 10, 6, never)},
			"use of 0xa by client 1 [4, 5] after grant of 0xb by client 2 [0, 3]"},
		{"two grants and no end",
			[]Operation{op(Grant, 1, 10, 0, 1), op(Grant, 2, 11, 2, 3), op(End, 1, 10, 4, never)}, "no order"},
		{"a smaller token", []Operation{op(Grant, 1, 10, 0, 1), op(End, 1, 10, 2, never), op(Grant, 2, 9, 3, 4)},
			"no order"},
		{"one token twice", []Operation{op(Grant, 1, 10, 0, 1), op(End, 1, 10, 2, never), op(Grant, 2, 10, 3, 4)},
			"no order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Judge(tt.ops, time.Minute)
			if tt.text == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.text)
			}
		})
	}
}

func TestRegisterRefusesOldTokens(t *testing.T) {
	var r Register
	require.NoError(t, r.Write(5, 1))
	_, err := r.Read(7)
	require.NoError(t, err)
	require.ErrorIs(t, r.Write(6, 2), ErrFenced, "a later one has read")
	_, err = r.Read(5)
	require.ErrorIs(t, err, ErrFenced)
	require.NoError(t, r.Write(7, 3))
	value, refused := r.Final()
	require.Equal(t, 3, value)
	require.Equal(t, 2, refused)
}

func op(kind Kind, client int, token client.Zxid, call, ret int64) Operation {
	return Operation{Kind: kind, Client: client, Token: token, Call: call, Return: ret}
}

func shared(o Operation) Operation {
	o.IsShared = true
	return o
}

func TestJudgeShared(t *testing.T) {
	reader := func(client int, token client.Zxid, from, to int64) []Operation {
		return []Operation{shared(op(Grant, client, token, from-1, from)), op(Use, client, token, to, to+1)}
	}
	writer := func(client int, token client.Zxid, from, to int64) []Operation {
		return []Operation{op(Grant, client, token, from-1, from), op(Use, client, token, to, to+1)}
	}
	for _, tt := range []struct {
		name string
		ops  [][]Operation
		text string // of the breach
	}{
		{"nothing", nil, ""},
		{"two share", [][]Operation{reader(1, 10, 1, 9), reader(2, 11, 2, 5)}, ""},
		{"three do one after the other",
			[][]Operation{reader(1, 10, 1, 9), reader(2, 11, 2, 5), reader(3, 12, 5, 9)}, ""},
		{"three share", [][]Operation{reader(1, 10, 1, 9), reader(2, 11, 2, 6), reader(3, 12, 5, 9)}, "3 holders"},
		{"a writer between readers", [][]Operation{reader(1, 10, 1, 3), writer(2, 11, 3, 6), reader(3, 12, 7, 9)}, ""},
		{"a writer while one reads", [][]Operation{reader(1, 10, 1, 6), writer(2, 11, 3, 7)}, "overlaps"},
		{"a reader while one writes", [][]Operation{writer(1, 10, 1, 6), reader(2, 11, 3, 7)}, "overlaps"},
		{"a writer with a smaller token", [][]Operation{writer(1, 10, 5, 6), reader(2, 9, 1, 3)}, ""},
		{"a writer with a smaller token that came later", [][]Operation{writer(1, 9, 5, 6), reader(2, 10, 1, 3)},
			"overlaps"},
		{"one token twice", [][]Operation{reader(1, 10, 1, 3), reader(2, 10, 5, 6)}, "one token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := JudgeShared(slices.Concat(tt.ops...), 2)
			if tt.text == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.text)
			}
		})
	}
}
