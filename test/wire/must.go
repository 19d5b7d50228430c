package wire

import (
	"testing"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// What follows is for tests in which an operation has to succeed: if it fails, the test ends with its error.

// Open is Dial. It closes the connection when the test ends.
func Open(t testing.TB, addr string, o Options) *Conn {
	t.Helper()
	c := must.Do(Dial(addr, o))(t)
	t.Cleanup(c.Close)
	return c
}

// MustFourLetter is FourLetter.
func MustFourLetter(t testing.TB, addr, word string, wait time.Duration) string {
	t.Helper()
	return must.Do(FourLetter(addr, word, wait))(t)
}

// MustDo is Do.
func (c *Conn) MustDo(t testing.TB, req Request) *Reply {
	t.Helper()
	return must.Do(c.Do(req))(t)
}

// MustCreate is Create.
func (c *Conn) MustCreate(t testing.TB, path string, data []byte, mode proto.CreateMode) string {
	t.Helper()
	return must.Do(c.Create(path, data, mode))(t)
}

// MustSetData is SetData.
func (c *Conn) MustSetData(t testing.TB, path string, data []byte, version int32) proto.Stat {
	t.Helper()
	return must.Do(c.SetData(path, data, version))(t)
}

// MustGetData is GetData.
func (c *Conn) MustGetData(t testing.TB, path string, watch bool) ([]byte, proto.Stat) {
	t.Helper()
	return must.Do2(c.GetData(path, watch))(t)
}

// MustExists is Exists.
func (c *Conn) MustExists(t testing.TB, path string, watch bool) proto.Stat {
	t.Helper()
	return must.Do(c.Exists(path, watch))(t)
}

// MustChildren is Children.
func (c *Conn) MustChildren(t testing.TB, path string, watch bool) []string {
	t.Helper()
	return must.Do(c.Children(path, watch))(t)
}

// MustSetACL is SetACL.
func (c *Conn) MustSetACL(t testing.TB, path string, acl []proto.ACL, version int32) proto.Stat {
	t.Helper()
	return must.Do(c.SetACL(path, acl, version))(t)
}
