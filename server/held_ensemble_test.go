package server_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// heldPage is a page of sessions, as far as tests look at it.
type heldPage struct {
	Total, Found int
	After        uint64
	Servers      []struct {
		ID       int64
		Sessions *int
		Trouble  string
	}
	Sessions []struct {
		Label, State, Address string
		Server                *int64
		Watches               *int
		Paths                 []string
	}
}

// by returns the sessions with an ephemeral znode, by its path: state and server.
func (p *heldPage) by() map[string]string {
	all := map[string]string{}
	for _, s := range p.Sessions {
		for _, path := range s.Paths {
			if all[path] = s.State; s.Server != nil {
				all[path] += fmt.Sprint(" at ", *s.Server)
			}
		}
	}
	return all
}

// Every server tells which server holds which session, as long as that server answers; and what it does not know it
// does not make up.
func TestSessionsOfAllServers(t *testing.T) {
	e := startSteered(t)
	require.NoError(t, e.WaitServing(t.Context()))
	conns := map[int]*wire.Conn{}
	for _, id := range e.IDs() {
		conns[id] = dial(t, e.Addr(id), wire.Options{})
		_, err := conns[id].Create(fmt.Sprint("/at-", id), nil, proto.ModeEphemeral)
		require.NoError(t, err)
	}
	require.NoError(t, e.WaitEqual(t.Context()))
	comes := func(id int, is func(p *heldPage) bool) (p heldPage) {
		t.Helper()
		b := browse(t, e.Server(id))
		require.Eventually(t, func() bool {
			p = heldPage{}
			resp, text := b.do("GET", "/api/v1/sessions", nil)
			return resp.StatusCode == 200 && json.Unmarshal([]byte(text), &p) == nil && is(&p) // else an election
		}, hangGuard, 50*time.Millisecond, "server %d: %+v", id, &p)
		return p
	}
	for _, id := range e.IDs() {
		p := comes(id, func(p *heldPage) bool {
			all := p.by()
			return all["/at-1"] == "connected at 1" && all["/at-2"] == "connected at 2" &&
				all["/at-3"] == "connected at 3"
		})
		require.Equal(t, 3, p.Total)
		require.Len(t, p.Servers, 3)
		for _, s := range p.Servers {
			require.Equal(t, 1, *s.Sessions, "server %d", s.ID)
		}
	}
	// In pages, and by a label.
	var first, second heldPage
	b := browse(t, e.Server(1))
	b.get("/sessions?limit=2", &first)
	b.get(fmt.Sprintf("/sessions?limit=2&after=%d", first.After), &second)
	require.Len(t, first.Sessions, 2)
	require.Len(t, second.Sessions, 1)
	require.Zero(t, second.After)
	var found heldPage
	b.get("/sessions?find="+second.Sessions[0].Label, &found)
	require.Equal(t, 1, found.Found)
	require.Equal(t, second.Sessions[0].Paths, found.Sessions[0].Paths)

	// Who is no server of the ensemble gets nothing, and who says that it is one gets what it cannot read.
	for id, hasAnswer := range map[uint64]bool{2: true, 1: false, 77: false, 1 << 63: false} {
		text := askHeld(t, e.Addr(1), id)
		require.Equal(t, hasAnswer, len(text) > 0, "for %d", id)
		session := uint64(conns[1].Session())
		require.NotContains(t, text, string(binary.BigEndian.AppendUint64(nil, session)))
		for _, form := range []string{"%d", "%x", "%X"} {
			require.NotContains(t, strings.ToLower(text), strings.ToLower(fmt.Sprintf(form, session)))
		}
		require.NotContains(t, text, "127.0.0.1")
	}

	// A client that is cut off is known to be connected nowhere, and one of a server that is away is not known.
	conns[2].Close()
	p := comes(1, func(p *heldPage) bool { return p.by()["/at-2"] == "disconnected" })
	require.Equal(t, "connected at 3", p.by()["/at-3"])
	e.Kill(3)
	p = comes(1, func(p *heldPage) bool { return p.by()["/at-3"] == "unknown" })
	require.Equal(t, "connected at 1", p.by()["/at-1"])
	require.Nil(t, p.Servers[2].Sessions)
	require.NotEmpty(t, p.Servers[2].Trouble)
}

// askHeld asks for the sessions that a server holds, as the server with an id does.
func askHeld(t *testing.T, address string, id uint64) string {
	nc, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Write(binary.BigEndian.AppendUint64([]byte("held"), id))
	require.NoError(t, err)
	text, _ := io.ReadAll(nc) // a server that closes at once may reset the connection
	return string(text)
}
