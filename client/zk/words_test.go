package zk

import (
	"testing"
	"time"
)

const srvrAnswer = "Zookeeper version: 3.4.6-1569965, built on 02/20/2014 09:09 GMT\nLatency min/avg/max: 0/1.5/10\n" +
	"Received: 4207\nSent: 4220\nConnections: 81\nOutstanding: 1\nZxid: 0x110a7a8f37\nMode: leader\n" +
	"Node count: 306\nProposal sizes last/min/max: 32/32/36\n"

func TestParseStats(t *testing.T) {
	s, err := parseStats(srvrAnswer)
	works(t, err)
	same(t, &ServerStats{Sent: 4220, Received: 4207, NodeCount: 306, AvgLatency: 1.5, MaxLatency: 10,
		Connections: 81, Outstanding: 1, Epoch: 0x11, Counter: 0x0a7a8f37, Mode: ModeLeader,
		BuildTime: time.Date(2014, 2, 20, 9, 9, 0, 0, s.BuildTime.Location()),
		Version:   "3.4.6-1569965"}, s)
	for _, bad := range []string{"", "This ZooKeeper instance is not currently serving requests\n",
		"Zookeeper version: 3\nLatency min/avg/max: 0/0/0\n",
		"Zookeeper version: 3.9, built on sunday\nLatency min/avg/max: 0/0/0\n",
		"Zookeeper version: 3.9, built on 2023-10-05 10:34 UTC\nLatency min/avg/max: 0/x/0\n",
		"Zookeeper version: 3.9, built on 2023-10-05 10:34 UTC\nLatency min/avg/max: 0/0/0\nReceived: many\n"} {
		_, err := parseStats(bad)
		fails(t, err, bad)
	}
}

func TestParseConnection(t *testing.T) {
	c := parseConnection(
		"/[0:0:0:0:0:0:0:1]:48212[1](queued=2,recved=9,sent=10,sid=0xff00000000000001,lop=PING,est=1435673429338," +
			"to=20000,lcxid=0xfffffffffffffffe,lzxid=0xffffffffffffffff,lresp=1435673439338," +
			"llat=3,minlat=0,avglat=1,maxlat=4)")
	minusTwo, minusOne := int64(-2), int64(-1)
	same(t, &ServerClient{Queued: 2, Received: 9, Sent: 10, SessionID: -0xffffffffffffff, Lcxid: minusTwo,
		Lzxid: minusOne, Timeout: 20000, LastLatency: 3, AvgLatency: 1, MaxLatency: 4,
		Established: time.UnixMilli(1435673429338), LastResponse: time.UnixMilli(1435673439338),
		Addr: "[0:0:0:0:0:0:0:1]:48212", LastOperation: "PING"}, c)
	for _, bad := range []string{
		"", "/1.2.3.4:5", "/1.2.3.4:5[1]", "/1.2.3.4:5(sid=0x1)", "/1.2.3.4:5[1](sid=0x1", "/1.2.3.4:5[1](sid=zero)",
	} {
		fails(t, parseConnection(bad).Error, bad)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(srvrAnswer)
	f.Add("/1.2.3.4:5[1](queued=0,recved=1,sent=1,sid=0x1)")
	f.Fuzz(func(t *testing.T, answer string) {
		if s, err := parseStats(answer); err == nil && (s == nil || s.BuildTime.IsZero()) {
			t.Errorf("%q has the statistics %+v", answer, s)
		}
		if parseConnection(answer) == nil {
			t.Errorf("%q has no connection", answer)
		}
	})
}
