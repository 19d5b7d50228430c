package ensemble

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// answering is the address of a server that answers words with texts; without one it closes, and to srvr it says
// nothing.
func answering(t *testing.T, answers map[string]string) string {
	t.Helper()
	ln := must.Listen(t)
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				word := make([]byte, 4)
				if _, err := nc.Read(word); err != nil {
					return
				}
				if text := answers[string(word)]; text != "" || string(word) != "srvr" {
					_, _ = nc.Write([]byte(text))
					_ = nc.Close()
				}
			}()
		}
	}()
	return ln.Addr().String()
}

const srvr = "Zookeeper version: 3.8.4-9316c2a, built on 2024-02-12\nLatency min/avg/max: 0/0.5/9\n" +
	"Received: 7\nSent: 6\nConnections: 3\nOutstanding: 2\nZxid: 0x500000047\nMode: follower\nNode count: 12\n"

// A server of ZooKeeper tells its state by the word that every server answers, and more if it answers others.
func TestServersAreAsked(t *testing.T) {
	s, _, _, err := asks(t).askServer(t.Context(), answering(t, map[string]string{"srvr": srvr,
		"mntr": "zk_version\t3.8.4\nzk_outstanding_requests\t4711\n", "conf": "serverId=3\ntickTime=2000\n"}), true)
	require.NoError(t, err)
	require.Equal(t, []any{"follower", uint64(0x500000047), int64(2), int64(2), 0.5, int64(3), true},
		[]any{s.Mode, s.Zxid, s.Connections, s.Outstanding, s.MeanMs, s.ID, s.Serving})
	require.Equal(t, "outstanding", s.Own[0].Check)
	require.Equal(t, "2000", s.Settings["tickTime"])

	s, _, refuses, err := asks(t).askServer(t.Context(), answering(t, map[string]string{"srvr": srvr,
		"fact": "fact" + Refused, "mntr": "mntr" + Refused, "conf": "conf" + Refused}), true)
	require.NoError(t, err)
	require.Equal(t, findings.NoServer, s.ID)
	require.True(t, refuses, "it is asked again: it may know this server as a member soon")
	require.Empty(t, s.Own)

	s, _, _, err = asks(t).askServer(t.Context(),
		answering(t, map[string]string{"srvr": "not currently serving requests\n"}), false)
	require.NoError(t, err)
	require.False(t, s.Serving)

	s, _, _, err = asks(t).askServer(t.Context(), answering(t, map[string]string{
		"fact": `{"self":{"id":7,"instance":9,"mode":"leader","own":[{"severity":"error","check":"disk-full"}]}}`}),
		true)
	require.NoError(t, err)
	require.Equal(t, []any{int64(7), "leader", findings.Error}, []any{s.ID, s.Mode, s.Own[0].Severity})
}

// What does not answer, or says what nobody understands, is an error, in bounded time and memory.
func TestServersThatDoNotAnswer(t *testing.T) {
	for name, answer := range map[string]string{"nothing": "", "other words": strings.Repeat("x", 1<<20),
		"broken": "Mode\nLatency min/avg/max: a/b\nZxid: \n"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, _, _, err := asks(t).askServer(ctx, answering(t, map[string]string{"srvr": answer, "fact": answer}), true)
		cancel()
		require.Error(t, err, name)
	}
	_, _, _, err := asks(t).askServer(t.Context(), "127.0.0.1:1", true)
	require.EqualError(t, err, "connection refused")
}

// A server that does not follow hears who leads, as long as that is one server that answers.
func TestLeaderIsHeardOf(t *testing.T) {
	now := time.Now()
	one := findings.Server{ID: 1, Mode: "follower", Serving: true, Heard: now}
	two := findings.Server{ID: 2, Mode: "leader", Serving: true, Heard: now}
	for want, three := range map[int64]findings.Server{2: {ID: 3, Mode: "looking", Heard: now},
		-1: {ID: 3, Mode: "leader", Serving: true, Heard: now}} {
		leader := leaderAmong(map[int64]findings.Server{1: one, 2: two, 3: three})
		require.Equal(t, want >= 0, leader != nil)
		if leader != nil {
			require.Equal(t, want, *leader)
		}
	}
	two.Silent = "connection refused"
	require.Nil(t, leaderAmong(map[int64]findings.Server{1: one, 2: two}))
}

// What was known of a server stays known, with its time, while it is silent.
func TestLastFactsStay(t *testing.T) {
	k := &keeper{}
	k.init(1)
	now := time.Now()
	hear := func(after time.Duration, s findings.Server, guessed bool) findings.Server {
		s.ID = 2
		k.keep([]heardServer{{Server: s, guessed: guessed}}, 1, now.Add(after))
		return k.others[0]
	}
	s := hear(0, findings.Server{Address: "a:1", Silent: "refused"}, true)
	require.Empty(t, s.Silent, "a guess that was never right")
	s = hear(0, findings.Server{Address: "a:1", Serving: true, Draining: true, Connections: 5}, true)
	require.Equal(t, now, s.Drained)
	s = hear(time.Second, findings.Server{Address: "a:1", Silent: "refused"}, true)
	require.Equal(t, []any{"refused", now.Add(time.Second), now, int64(5), now},
		[]any{s.Silent, s.SilentSince, s.Heard, s.Connections, s.Drained})
	s = hear(time.Minute, findings.Server{Address: "a:1", Silent: "no route"}, true)
	require.Equal(t, []any{"no route", now.Add(time.Second)}, []any{s.Silent, s.SilentSince})
	s = hear(2*time.Minute, findings.Server{Address: "a:1"}, true)
	require.Equal(t, []any{true, now}, []any{s.SilentSince.IsZero(), s.Drained})
	s = hear(3*time.Minute, findings.Server{Address: "a:1", Serving: true}, true)
	require.Zero(t, s.Drained, "it serves clients again")

	for _, after := range []time.Duration{0, time.Second} {
		s = hear(4*time.Minute+after, findings.Server{Address: "a:1", Answer: "not serving"}, true)
		require.Equal(t, now.Add(4*time.Minute), s.Since, "since when its words say so")
	}
	s = hear(0, findings.Server{Address: "a:1", Serving: true, Clock: now.Add(-time.Hour),
		Since: now.Add(-2 * time.Hour)}, false)
	require.Equal(t, now.Add(-time.Hour), s.Since, "by the clock of this server")
	k.keep([]heardServer{{Server: findings.Server{ID: 1, Instance: 1}}}, 1, now)
	require.Empty(t, k.others, "that was this server")
	k.keep([]heardServer{{Server: findings.Server{ID: 1, Instance: 2}}}, 1, now)
	require.Len(t, k.others, 1, "that is a twin")
}

// A server that answers in the place of another one is known beside that one, and never instead of it.
func TestTwinInThePlaceOfAnother(t *testing.T) {
	record := func(id, instance int64) string {
		return fmt.Sprintf(`{"self":{"id":%d,"instance":%d,"mode":"looking","voter":true}}`, id, instance)
	}
	k := &keeper{}
	k.init(1)
	ask := func(records ...string) {
		heard := make([]heardServer, len(records))
		for i, text := range records {
			host, port := must.Do2(net.SplitHostPort(answering(t, map[string]string{RecordWord: text})))(t)
			m := &config.Member{ID: int64(i + 1)}
			m.Client.Host = host
			m.Client.Port = must.Atoi(t, port)
			heard[i] = k.askMember(t.Context(), m, 0, nil, true)
		}
		k.keep(heard, 1, time.Now())
	}
	ask(record(1, 1), record(2, 2), record(2, 7))
	require.Len(t, k.others, 3)
	require.Equal(t, []any{int64(2), uint64(7)}, []any{k.others[2].ID, k.others[2].Instance})
	require.Equal(t, "server 2 answers in its place", k.others[1].Silent)
	require.Equal(t, uint64(2), k.byID()[2].Instance)
	require.NotEmpty(t, k.address)
	ask(record(1, 1), record(2, 2), record(2, 2))
	require.Len(t, k.others, 2, "two addresses of one server")
	ask(record(1, 9), record(2, 2), record(1, 1))
	require.Equal(t, uint64(9), k.others[0].Instance, "the other one has this server's place")
	require.Len(t, k.others, 3)
}

// Another server may have heard one with the id of this server, which this one cannot ask.
func TestTwinsThatOthersHear(t *testing.T) {
	now := time.Now()
	twin := findings.Server{ID: 1, Instance: 5, Heard: now.Add(-time.Second)}
	told := func(s findings.Server, others ...findings.Server) *findings.Server {
		s.Clock = now
		return twinOf(&heardServer{Server: s, others: others}, 1, 7, time.Minute)
	}
	by := findings.Server{ID: 2, Instance: 6}
	require.Equal(t, &twin, told(by, findings.Server{ID: 3, Instance: 4, Heard: now}, twin))
	require.Nil(t, told(by, findings.Server{ID: 1, Instance: 7, Heard: now}), "that is this server")
	require.Nil(t, told(findings.Server{ID: 1, Instance: 7}, twin), "what this server has heard before")
	before, silent := twin, twin
	before.Heard, silent.Silent = now.Add(-time.Minute), "connection refused"
	require.Nil(t, told(by, before, silent), "what this server was before, and one that is gone")

	k := &keeper{}
	k.init(7)
	heard := heardServer{Server: by, twin: &twin}
	k.keep([]heardServer{heard, heard}, 1, now)
	require.Len(t, k.others, 3)
	require.Equal(t, uint64(5), k.others[2].Instance)
}

// A server that tells no record twice is taken for one of ZooKeeper, which is asked for it once a minute.
func TestServersWithoutARecord(t *testing.T) {
	k := &keeper{}
	k.init(1)
	now := time.Now()
	hear := func(after time.Duration, instance uint64) {
		k.keep([]heardServer{{Server: findings.Server{ID: 2, Address: "a:1", Instance: instance}}}, 1, now.Add(after))
	}
	asks := func(after time.Duration) bool { return k.mayTellRecord(2, now.Add(after)) }
	hear(0, 0)
	require.True(t, asks(keepEvery), "it may have begun to answer between two words")
	hear(keepEvery, 0)
	require.False(t, asks(2*keepEvery))
	require.True(t, asks(keepEvery+tellEvery))
	hear(keepEvery+tellEvery, 5)
	require.True(t, asks(2*keepEvery+tellEvery))
}

// A counter is told of as long as it goes up.
func TestCountersAreForgotten(t *testing.T) {
	k := &keeper{}
	k.init(1)
	now := time.Now()
	count := func(after time.Duration, v float64) float64 { return k.count("x", v, now.Add(after)) }
	require.Zero(t, count(0, 0))
	require.EqualValues(t, 2, count(time.Minute, 2))
	require.EqualValues(t, 3, count(5*time.Minute, 3))
	require.EqualValues(t, 3, count(9*time.Minute, 3))
	require.Zero(t, count(10*time.Minute, 3))
	require.EqualValues(t, 1, count(11*time.Minute, 4))
	require.Zero(t, count(12*time.Minute, 0), "srst")
	require.EqualValues(t, 1, count(13*time.Minute, 1))
}

// The record is for the hosts of the ensemble: as last resolved, while the name server is silent, too. A server is
// asked at that address then.
func TestNamesOfMembers(t *testing.T) {
	f := &Facts{}
	f.keeper.init(1)
	k, ip := &f.keeper, netip.MustParseAddr
	require.False(t, f.IsMember(ip("192.0.2.7")))
	now := time.Now()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	resolve := func(ctx context.Context, hosts ...string) {
		m := config.Member{ID: 2}
		for _, host := range hosts {
			m.Addresses = append(m.Addresses, config.PeerAddress{Host: host})
		}
		_, all := k.lookUp(ctx, []config.Member{m}, now)
		all.Wait()
	}
	const name = "no.such.host.invalid"
	resolve(t.Context(), "192.0.2.7", "::ffff:192.0.2.9")
	require.True(t, f.IsMember(ip("192.0.2.7")))
	require.True(t, f.IsMember(ip("192.0.2.9")))
	require.True(t, f.IsMember(ip("::ffff:192.0.2.9")))
	require.False(t, f.IsMember(ip("192.0.2.8")))

	host, port, err := net.SplitHostPort(answering(t, map[string]string{"srvr": srvr, "conf": "serverId=2\n"}))
	require.NoError(t, err)
	k.remember(map[string][]string{name: {host}})
	resolve(gone, name)
	require.True(t, f.IsMember(ip(host)), "what was known before")
	require.False(t, f.IsMember(ip("192.0.2.7")), "it has left")
	require.Empty(t, k.unresolved(now))
	now = now.Add(unresolvedFor)
	resolve(gone, name, "other.invalid")
	require.Equal(t, []findings.Name{{Host: name, Addresses: []netip.Addr{ip(host)},
		Trouble: "the name server does not answer", Since: now.Add(-unresolvedFor)}}, k.unresolved(now), "that lasts")

	m := &config.Member{ID: 2, Addresses: []config.PeerAddress{{Host: name}}}
	m.Client.Port = must.Atoi(t, port)
	silent := lookups{name: make(chan struct{}), "other.invalid": make(chan struct{})}
	s := k.askMember(t.Context(), m, 0, silent, false)
	require.Equal(t, []string{"", "follower", name + ":" + port}, []string{s.Silent, s.Mode, s.Address})
	m.Addresses[0].Host = "other.invalid"
	close(silent["other.invalid"])
	s = k.askMember(t.Context(), m, 0, silent, false)
	require.Equal(t, "no address is known of other.invalid: the name server does not answer", s.Silent)

	k.noteName(name, []netip.Addr{ip("192.0.2.1"), ip(host)}, nil, now)
	require.Empty(t, k.places[name].trouble)
	ctx, cancel := context.WithTimeout(t.Context(), askWait)
	defer cancel()
	m.Addresses[0].Host = name
	s = k.askMember(ctx, m, 0, nil, false)
	require.Empty(t, s.Silent, "the second of two addresses answers")
}

// asks is who asks servers that have no names.
func asks(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{}
	k.init(1)
	return k
}
