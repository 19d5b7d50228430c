package recipes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name string
		ops  []Operation
		text string // of the breach
	}{
		{"nothing", nil, ""},
		{"one after the other", []Operation{{Grant, 1, 10, 0, 1}, {Use, 1, 10, 2, 3}, {End, 1, 10, 4, never}, {Grant, 2, 11, 0, 5}, {Use, 2, 11, 6, 7}}, ""},
		{"the end is seen late", []Operation{{Grant, 1, 10, 0, 1}, {End, 1, 10, 2, never}, {Grant, 2, 11, 1, 3}, {End, 2, 11, 8, never}}, ""},
		{"at the same moment", []Operation{{Grant, 1, 10, 0, 1}, {Use, 1, 10, 2, 5}, {End, 1, 10, 6, never}, {Grant, 2, 11, 0, 7}}, ""},
		{"a use after the next grant", []Operation{{Grant, 1, 10, 0, 1}, {Grant, 2, 11, 0, 3}, {Use, 1, 10, 4, 5}, {End, 1, 10, 6, never}},
			"use of 0xa by client 1 [4, 5] after grant of 0xb by client 2 [0, 3]"},
		{"two grants and no end", []Operation{{Grant, 1, 10, 0, 1}, {Grant, 2, 11, 2, 3}, {End, 1, 10, 4, never}}, "no order"},
		{"a smaller token", []Operation{{Grant, 1, 10, 0, 1}, {End, 1, 10, 2, never}, {Grant, 2, 9, 3, 4}}, "no order"},
		{"one token twice", []Operation{{Grant, 1, 10, 0, 1}, {End, 1, 10, 2, never}, {Grant, 2, 10, 3, 4}}, "no order"},
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
