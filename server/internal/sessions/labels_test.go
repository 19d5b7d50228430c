package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestLabels(t *testing.T) {
	const id = proto.SessionID(0x0312_3456_789a_bcde)
	a, b := NewLabels(), NewLabels()
	require.Equal(t, a.Number(id), a.Number(id))
	require.Equal(t, a.Text(id), a.Text(id))
	require.Regexp(t, "^s-[0-9a-f]{12}$", a.Text(id))
	require.Equal(t, uint64(id)>>56, uint64(a.Number(id))>>56, "the server's part is no secret")
	require.NotEqual(t, id, a.Number(id))
	require.NotEqual(t, a.Number(id), a.Number(id+1))
	require.NotEqual(t, a.Text(id), a.Text(id+1))
	require.NotEqual(t, a.Number(id), b.Number(id), "each server has a key of its own")
	require.NotEqual(t, a.Text(id), b.Text(id))
	require.Zero(t, a.Number(0))
}
