package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// What follows is for tests in which an operation has to succeed: if it fails, the test ends with its error.

// Open is Dial. It closes the connection when the test ends.
func Open(t testing.TB, addr string, o Options) *Conn {
	t.Helper()
	c, err := Dial(addr, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// MustFourLetter is FourLetter.
func MustFourLetter(t testing.TB, addr, word string, wait time.Duration) string {
	t.Helper()
	text, err := FourLetter(addr, word, wait)
	require.NoError(t, err)
	return text
}

// MustDo is Do.
func (c *Conn) MustDo(t testing.TB, req Request) *Reply {
	t.Helper()
	reply, err := c.Do(req)
	require.NoError(t, err)
	return reply
}

// MustCreate is Create.
func (c *Conn) MustCreate(t testing.TB, path string, data []byte, mode proto.CreateMode) string {
	t.Helper()
	created, err := c.Create(path, data, mode)
	require.NoError(t, err)
	return created
}

// MustSetData is SetData.
func (c *Conn) MustSetData(t testing.TB, path string, data []byte, version int32) proto.Stat {
	t.Helper()
	stat, err := c.SetData(path, data, version)
	require.NoError(t, err)
	return stat
}

// MustGetData is GetData.
func (c *Conn) MustGetData(t testing.TB, path string, watch bool) ([]byte, proto.Stat) {
	t.Helper()
	data, stat, err := c.GetData(path, watch)
	require.NoError(t, err)
	return data, stat
}

// MustExists is Exists.
func (c *Conn) MustExists(t testing.TB, path string, watch bool) proto.Stat {
	t.Helper()
	stat, err := c.Exists(path, watch)
	require.NoError(t, err)
	return stat
}

// MustChildren is Children.
func (c *Conn) MustChildren(t testing.TB, path string, watch bool) []string {
	t.Helper()
	names, err := c.Children(path, watch)
	require.NoError(t, err)
	return names
}

// MustSetACL is SetACL.
func (c *Conn) MustSetACL(t testing.TB, path string, acl []proto.ACL, version int32) proto.Stat {
	t.Helper()
	stat, err := c.SetACL(path, acl, version)
	require.NoError(t, err)
	return stat
}
