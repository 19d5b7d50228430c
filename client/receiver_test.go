package client

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

// receivedEvents is a Receiver that many watches share.
type receivedEvents chan Event

func (r receivedEvents) Receive(e Event) { r <- e }

func TestReceiverTakesTheEventsOfManyWatches(t *testing.T) {
	f := newFake(t)
	reported := make(chan Event, 16)
	c := dial(t, f.addr(), WithHooks(Hooks{Event: func(e Event) { reported <- e }}))
	ctx := within(t, time.Minute)
	require.Do(c.Create(ctx, "/a", nil, Persistent))(t)
	to := make(receivedEvents, 16)
	first := armed(c.GetW(ctx, "/a", to))(t)
	require.True(t, first.C() == nil)
	require.NoError(t, first.Err())
	_, _, none, err := c.GetW(ctx, "/a", to, to)
	require.ErrorIs(t, err, ErrBadArguments)
	require.True(t, none == nil)
	armed(c.ExistsW(ctx, "/a", to))(t)
	armed(c.ExistsW(ctx, "/b", to))(t)
	closed := armed(c.ChildrenW(ctx, "/a", to))(t)
	closed.Close()

	require.Do(c.Set(ctx, "/a", nil, AnyVersion))(t)
	require.Equal(t, NodeDataChanged, (<-to).Type, "one of GetW")
	require.Equal(t, NodeDataChanged, (<-to).Type, "one of ExistsW")
	require.Equal(t, NodeDataChanged, (<-reported).Type, "the hook hears of a change once")

	armed(c.ChildrenW(ctx, "/a", to))(t)
	require.NoError(t, c.Close())
	want := map[string]bool{"/a": true, "/b": true}
	for range want {
		e := <-to
		require.Equal(t, WatchLost, e.Type)
		require.ErrorIs(t, e.Err, ErrClosed)
		require.True(t, want[e.Path])
		require.Equal(t, WatchLost, (<-reported).Type)
	}
	require.Empty(t, to, "a watch that was closed by its owner is silent")
	require.Empty(t, reported)
}

// A server source decides where every dial goes, and its errors are waited out.
func TestServerSource(t *testing.T) {
	f := newFake(t)
	var asked atomic.Int64
	c := dial(t, "nowhere:1", WithBackoff(0, 0), WithServerSource(func(context.Context) (string, error) {
		switch asked.Add(1) {
		case 1:
			return "", errors.New("no server is known yet")
		case 2:
			return "127.0.0.1:1", nil // no server listens there
		}
		return f.addr(), nil
	}))
	require.EqualValues(t, 3, asked.Load())
	require.Equal(t, f.addr(), c.State().Server)
}

func TestProtectionID(t *testing.T) {
	c := dial(t, newFake(t).addr())
	ctx := within(t, time.Minute)
	path := require.Do(c.CreateProtected(ctx, "/lock-", nil, EphemeralSequential, WithProtectionID("mine")))(t)
	require.True(t, strings.HasPrefix(path, "/_c_mine-lock-"), path)
	_, err := c.CreateProtected(ctx, "/lock-", nil, EphemeralSequential, WithProtectionID("../mine"))
	require.ErrorIs(t, err, ErrBadArguments)
}

// Every code of a server has a name in this package, so that programs need not import package proto.
func TestEveryCodeOfAServerHasAName(t *testing.T) {
	parsed := require.Do(parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0))(t)
	named := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "proto" {
				named[s.Sel.Name] = true
			}
		}
		return true
	})
	generated := require.Do(parser.ParseFile(token.NewFileSet(), "../proto/errors_gen.go", nil, 0))(t)
	codes := 0
	for _, d := range generated.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			name := s.(*ast.ValueSpec).Names[0].Name
			if strings.HasPrefix(name, "Err") {
				codes++
				require.True(t, named[name], "proto.%s", name)
			}
		}
	}
	require.Greater(t, codes, 30)
	wrapped := &Error{Op: "multi", Err: &TxnError{Err: proto.ErrSessionMoved}}
	require.ErrorIs(t, wrapped, ErrSessionMoved)
}
