package zk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const srvrAnswer = "Zookeeper version: 3.4.6-1569965, built on 02/20/2014 09:09 GMT\nLatency min/avg/max: 0/1.5/10\nReceived: 4207\n" +
	"Sent: 4220\nConnections: 81\nOutstanding: 1\nZxid: 0x110a7a8f37\nMode: leader\nNode count: 306\nProposal sizes last/min/max: 32/32/36\n"

func TestParseStats(t *testing.T) {
	s, err := parseStats(srvrAnswer)
	require.NoError(t, err)
	require.Equal(t, &ServerStats{Sent: 4220, Received: 4207, NodeCount: 306, AvgLatency: 1.5, MaxLatency: 10, Connections: 81, Outstanding: 1,
		Epoch: 0x11, Counter: 0x0a7a8f37, BuildTime: time.Date(2014, 2, 20, 9, 9, 0, 0, s.BuildTime.Location()), Mode: ModeLeader,
		Version: "3.4.6-1569965"}, s)
	for _, bad := range []string{"", "This ZooKeeper instance is not currently serving requests\n", "Zookeeper version: 3\nLatency min/avg/max: 0/0/0\n",
		"Zookeeper version: 3.9, built on sunday\nLatency min/avg/max: 0/0/0\n",
		"Zookeeper version: 3.9, built on 2023-10-05 10:34 UTC\nLatency min/avg/max: 0/x/0\n",
		"Zookeeper version: 3.9, built on 2023-10-05 10:34 UTC\nLatency min/avg/max: 0/0/0\nReceived: many\n"} {
		_, err := parseStats(bad)
		require.Error(t, err, bad)
	}
}

func TestParseConnection(t *testing.T) {
	c := parseConnection("/[0:0:0:0:0:0:0:1]:48212[1](queued=2,recved=9,sent=10,sid=0xff00000000000001,lop=PING,est=1435673429338,to=20000," +
		"lcxid=0xfffffffffffffffe,lzxid=0xffffffffffffffff,lresp=1435673439338,llat=3,minlat=0,avglat=1,maxlat=4)")
	minusTwo, minusOne := int64(-2), int64(-1)
	require.Equal(t, &ServerClient{Queued: 2, Received: 9, Sent: 10, SessionID: -0xffffffffffffff, Lcxid: minusTwo, Lzxid: minusOne, Timeout: 20000,
		LastLatency: 3, AvgLatency: 1, MaxLatency: 4, Established: time.UnixMilli(1435673429338), LastResponse: time.UnixMilli(1435673439338),
		Addr: "[0:0:0:0:0:0:0:1]:48212", LastOperation: "PING"}, c)
	for _, bad := range []string{"", "/1.2.3.4:5", "/1.2.3.4:5[1]", "/1.2.3.4:5(sid=0x1)", "/1.2.3.4:5[1](sid=0x1", "/1.2.3.4:5[1](sid=zero)"} {
		require.Error(t, parseConnection(bad).Error, bad)
	}
}

func TestWordsOfAServer(t *testing.T) {
	c, _ := connect(t, address)
	servers := []string{address, "127.0.0.1:1"}
	require.Equal(t, []bool{true, false}, FLWRuok(servers, time.Minute))
	stats, ok := FLWSrvr(servers, time.Minute)
	require.False(t, ok)
	require.NoError(t, stats[0].Error)
	require.Equal(t, "3.9.1-warren", stats[0].Version)
	require.Equal(t, 2026, stats[0].BuildTime.Year(), "as servers since 3.9 write it")
	require.Equal(t, ModeStandalone, stats[0].Mode)
	require.Error(t, stats[1].Error)
	clients, ok := FLWCons(servers[:1], time.Minute)
	require.True(t, ok)
	found := false
	for _, one := range clients[0].Clients {
		require.NoError(t, one.Error)
		if one.SessionID == c.SessionID() {
			found = true
			require.WithinDuration(t, time.Now(), one.Established, time.Minute)
		}
	}
	require.True(t, found)
}

func FuzzWords(f *testing.F) {
	f.Add(srvrAnswer)
	f.Add("/1.2.3.4:5[1](queued=0,recved=1,sent=1,sid=0x1)")
	f.Fuzz(func(t *testing.T, answer string) {
		if s, err := parseStats(answer); err == nil {
			require.NotNil(t, s)
			require.False(t, s.BuildTime.IsZero())
		}
		require.NotNil(t, parseConnection(answer))
	})
}
