package facts

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

// answering is the address of a server that answers words with texts; without a text it says nothing.
func answering(t *testing.T, answers map[string]string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				word := make([]byte, 4)
				if _, err := nc.Read(word); err == nil && answers[string(word)] != "" {
					_, _ = nc.Write([]byte(answers[string(word)]))
					_ = nc.Close()
				}
			}()
		}
	}()
	return ln.Addr().String()
}

const srvr = "Zookeeper version: 3.8.4-9316c2a, built on 2024-02-12\nLatency min/avg/max: 0/0.5/9\n" +
	"Received: 7\nSent: 6\nConnections: 3\nOutstanding: 2\nZxid: 0x500000047\nMode: follower\nNode count: 12\n"

// A server of ZooKeeper tells its state by the word that every server answers, and more if it answers mntr.
func TestServersAreAsked(t *testing.T) {
	var s ServerState
	askServer(t.Context(), answering(t, map[string]string{"srvr": srvr,
		"mntr": "zk_version\t3.8.4\nzk_uptime\t4711\n"}), &s)
	require.Empty(t, s.Trouble)
	require.Equal(t, []any{"follower", "0x500000047", int64(2), int64(2), 0.5},
		[]any{s.State, s.Zxid, s.Connections, s.Outstanding, s.MeanMs})
	require.Equal(t, int64(4711), *s.UptimeMs)
	require.Positive(t, *s.RoundTripMs)

	s = ServerState{}
	askServer(t.Context(), answering(t, map[string]string{"srvr": srvr,
		"mntr": "mntr is not executed because it is not in the whitelist.\n"}), &s)
	require.Empty(t, s.Trouble)
	require.Nil(t, s.UptimeMs)
}

// What does not answer, or says what nobody understands, is told of, in bounded time and memory.
func TestServersThatDoNotAnswer(t *testing.T) {
	for name, answer := range map[string]string{"nothing": "",
		"not serving": "This ZooKeeper instance is not currently serving requests\n",
		"other words": strings.Repeat("x", 1<<20), "broken": "Mode\nLatency min/avg/max: a/b\nZxid: \n"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		var s ServerState
		askServer(ctx, answering(t, map[string]string{"srvr": answer}), &s)
		cancel()
		require.NotEmpty(t, s.Trouble, name)
		require.Nil(t, s.RoundTripMs, name)
	}
	var s ServerState
	askServer(t.Context(), "127.0.0.1:1", &s)
	require.Contains(t, s.Trouble, "refused")
}

func TestWhereServersTakeClients(t *testing.T) {
	line := func(client string) *config.Member {
		m := &config.Member{Addresses: []config.PeerAddress{{Host: "zk2"}}}
		m.Client.Host, m.Client.Port = client, 2181
		return m
	}
	require.Equal(t, "10.0.0.7:2181", clientAddressOf(line("10.0.0.7")))
	for _, every := range []string{"", "0.0.0.0", "::"} {
		require.Equal(t, "zk2:2181", clientAddressOf(line(every)), "where its peers find it")
	}
	unknown := line("")
	unknown.Client.Port = config.PortUnset
	require.Empty(t, clientAddressOf(unknown))
}
