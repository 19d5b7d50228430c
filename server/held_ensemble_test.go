package server_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
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
		conns[id].MustCreate(t, fmt.Sprint("/at-", id), nil, proto.ModeEphemeral)
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

// Every server tells what the clients of all of them watch, what took long and what causes most work.
func TestWorkOfAllServers(t *testing.T) {
	e := startSteered(t, func(c *config.Config) { c.Trace.Slow, c.Admin.Top = time.Nanosecond, true })
	require.NoError(t, e.WaitServing(t.Context()))
	first := dial(t, e.Addr(1), wire.Options{})
	first.MustCreate(t, "/watched", nil, proto.ModePersistent)
	require.NoError(t, e.WaitEqual(t.Context()))
	for _, id := range e.IDs() {
		dial(t, e.Addr(id), wire.Options{}).MustGetData(t, "/watched", true)
	}
	type told struct {
		ID      int64
		Trouble string
		Top     *struct{ Total struct{ Requests float64 } }
	}
	type page struct {
		Watchers, Operations []struct {
			Server        int64
			Session, Path string
		}
		Total   any // a number, or rates
		Servers []told
	}
	comes := func(id int, path string, is func(p *page) bool) {
		t.Helper()
		b := browse(t, e.Server(id))
		b.header.Set("Authorization", superUser)
		var text string
		require.Eventually(t, func() bool {
			var p page
			var resp *http.Response
			resp, text = b.do("GET", "/api/v1"+path, nil)
			return resp.StatusCode == 200 && json.Unmarshal([]byte(text), &p) == nil && is(&p)
		}, hangGuard, 50*time.Millisecond, "server %d: %s", id, &text)
	}
	for _, id := range e.IDs() {
		comes(id, "/watchers?path=/watched", func(p *page) bool {
			all := map[int64]bool{}
			for _, w := range p.Watchers {
				all[w.Server] = w.Session != ""
			}
			return p.Total == 3.0 && len(all) == 3 && all[1] && all[2] && all[3] && len(p.Servers) == 3
		})
		comes(id, "/slow?limit=1000", func(p *page) bool {
			all := map[int64]bool{}
			for _, o := range p.Operations {
				all[o.Server] = all[o.Server] || o.Path == "/watched" && o.Session != ""
			}
			return all[1] && all[2] && all[3]
		})
		comes(id, "/top", func(p *page) bool {
			return len(p.Servers) == 3 && !slices.ContainsFunc(p.Servers, func(s told) bool {
				return s.Top == nil || s.Top.Total.Requests == 0
			})
		})
	}
	e.Kill(3)
	for _, path := range []string{"/watchers?path=/watched", "/slow", "/top"} {
		comes(1, path, func(p *page) bool {
			return len(p.Servers) == 3 && p.Servers[0].Trouble == "" && p.Servers[2].Trouble != "" &&
				p.Servers[2].Top == nil
		})
	}
}

// askHeld asks a server about its sessions, as the server with an id does.
func askHeld(t *testing.T, address string, id uint64) string {
	nc := must.Do(net.Dial("tcp", address))(t)
	defer nc.Close()
	asks := binary.BigEndian.AppendUint64([]byte("held"), id)
	must.Do(nc.Write(append(binary.BigEndian.AppendUint16(asks, uint16(len("sessions"))), "sessions"...)))(t)
	text, _ := io.ReadAll(nc) // a server that closes at once may reset the connection
	return string(text)
}
