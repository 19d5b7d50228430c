package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// A server that goes by the id of a member, and has another address by its own list, is a rival as soon as it has
// looked for a leader for a while, and until it is heard no more.
func TestRivalsByTheirOwnLists(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	now := time.Unix(1000, 0)
	list := func(host string) []byte {
		return fmt.Appendf(nil, "server.1=zk1:2888:3888\nserver.2=%s:2888:3888\nserver.3=zk3:2888:3888\nversion=0",
			host)
	}
	own := must.Do(config.ParseMembers(list("zk2")))(t)
	m.Members.Store(own)
	hears := func(after time.Duration, state zab.State, host string) []Rival {
		now = now.Add(after)
		m.notices.hearsList(&zab.Message{Type: zab.Notification, From: 2, State: state, Config: list(host)},
			m.Active, now)
		return m.viewOthers(now).rivals
	}
	for _, host := range []string{"zk2", "0.0.0.0", "[::]"} { // where it is, as ZooKeeper's images write it
		hears(0, zab.Looking, host)
		require.Empty(t, hears(rivalLeast, zab.Looking, host), host)
	}
	require.Empty(t, hears(0, zab.Looking, "elsewhere"))
	require.Empty(t, hears(rivalLeast, zab.Following, "elsewhere"), "it has found its leader")
	require.Equal(t, []Rival{{2, "elsewhere", 0, false}}, hears(0, zab.Looking, "elsewhere"))
	require.Equal(t, []Rival{{2, "elsewhere", time.Second, false}}, hears(time.Second, zab.Looking, "zk2"))
	require.Empty(t, hears(rivalMemory, zab.Looking, "zk2"))
	require.Empty(t, hears(0, zab.Looking, "elsewhere"), "that is another time")
}

// A learner that was turned away is a rival at once, at the host that it has connected from.
func TestRivalsThatWereTurnedAway(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	now := time.Unix(1000, 0)
	m.links.open = map[zab.LinkID]*link{7: {Link: &peers.Link{ID: 7, Peer: 3}}}
	m.notices.turnedAway([]zab.Rival{{Link: 8, Holder: 7}}, &m.links, now)
	require.Empty(t, m.notices.present(now), "its connection has ended")
	m.notices.hear(3, "10.0.0.4", true, now)
	m.notices.hear(2, "10.0.0.5", true, now)
	now = now.Add(time.Second)
	require.Equal(t, []Rival{{2, "10.0.0.5", time.Second, true}, {3, "10.0.0.4", time.Second, true}},
		m.notices.present(now))
	require.Empty(t, m.notices.present(now.Add(rivalMemory)))
}

// A server that asks for an election channel again and again, as if it had none, is a rival if it names none of the
// addresses that the member has.
func TestRivalsThatAskForAChannel(t *testing.T) {
	own := must.Do(config.ParseMembers([]byte("server.1=zk1:2888:3888|10.0.0.1:2888:3888\nserver.2=zk2:2888:3888\n" +
		"server.3=zk3:2888:3888\nversion=0")))(t)
	for name, v := range map[string]struct {
		names []string
		want  string
	}{
		"the member":             {names: []string{"zk1:3888"}},
		"by its other address":   {names: []string{"elsewhere:3888", "10.0.0.1:3888"}},
		"at every address":       {names: []string{"0.0.0.0:3888"}},
		"of an old version":      {},
		"no address":             {names: []string{"nonsense"}},
		"at another host":        {names: []string{"elsewhere:3888"}, want: "elsewhere"},
		"at another port":        {names: []string{"zk1:3889"}, want: "zk1"},
		"at several, IPv6 first": {names: []string{"[::5]:3888", "elsewhere:3888"}, want: "::5"},
	} {
		t.Run(name, func(t *testing.T) {
			m := leased(t, 2, 1, 2, 3)
			m.Members.Store(own)
			now := time.Unix(1000, 0)
			m.notices.askedAnew(9, v.names, now)
			m.notices.askedAnew(1, v.names, now)
			require.Empty(t, m.notices.present(now), "once is no sign")
			m.notices.askedAnew(1, v.names, now.Add(rivalLeast))
			var want []Rival
			if v.want != "" {
				want = []Rival{{1, v.want, 0, false}}
			}
			require.Equal(t, want, m.notices.present(now.Add(rivalLeast)))
		})
	}
}
