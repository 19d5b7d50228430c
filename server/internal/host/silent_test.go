package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// What a leader tells of a session is refuted by its later txns, and not by those that the leader had made before,
// which a server with a slow disk delivers when the report has arrived.
func TestReportsAreRefutedByLaterTxns(t *testing.T) {
	const id, now = 7, int64(1e9)
	of := func(zxid proto.Zxid) []zab.Txn {
		header := proto.TxnHeader{ClientID: id, Zxid: zxid, Type: proto.OpCreateSession}
		return []zab.Txn{{Zxid: zxid, Payload: header.AppendTo(nil)}}
	}
	for name, v := range map[string]struct {
		last, delivered proto.Zxid
		holds           bool
	}{
		"made before":          {last: 5, delivered: 4, holds: true},
		"the newest":           {last: 5, delivered: 5, holds: true},
		"made later":           {last: 5, delivered: 6},
		"of an older leader":   {last: -1, delivered: 4},
		"of the next epoch":    {last: proto.MakeZxid(1, 5), delivered: proto.MakeZxid(2, 1)},
		"before that, of this": {last: proto.MakeZxid(2, 0), delivered: proto.MakeZxid(1, 9), holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			var s silence
			l := &link{Link: &peers.Link{ID: 3, Dialled: true}, arrived: now}
			s.told(l, &peers.Packet{Type: peers.PacketSilent, Zxid: v.last,
				Data: sessions.AppendSilent(nil, []sessions.Silent{{ID: id, Heard: now - 2e6}}, now)})
			require.Equal(t, report{now - 2e6, v.last}, s.heard[id])
			s.delivered(of(v.delivered))
			require.Equal(t, v.holds, len(s.heard) == 1)
		})
	}
}

// What a leader told this server about silent sessions counts in the next epoch only. After a SNAP the server forgets
// it, because the new state may contain a txn that refutes it.
func TestWhatCountsInTheNextEpoch(t *testing.T) {
	const told, own, second = 7, 8, int64(time.Second)
	for name, v := range map[string]struct {
		link  zab.LinkID // of the leader that has told
		epoch int64
		write zab.Persist
		want  []sessions.Silent
	}{
		"the next epoch": {link: 3, epoch: 5, want: []sessions.Silent{{ID: told, Heard: 20 * second},
			{ID: own, Heard: 21 * second}}},
		"of a link before": {link: 2, epoch: 5, want: []sessions.Silent{{ID: own, Heard: 21 * second}}},
		"a later epoch":    {link: 3, epoch: 6},
		"the same epoch":   {link: 3, epoch: 4},
		"SNAP":             {link: 3, epoch: 5, write: zab.Persist{Install: &zab.Install{}}},
		"TRUNC": {link: 3, epoch: 5, write: zab.Persist{Truncate: true}, want: []sessions.Silent{
			{ID: told, Heard: 20 * second}, {ID: own, Heard: 21 * second}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := leased(t, 2, 1, 2, 3)
			m.journal = &durable.Journal{Jobs: flow.NewInbox[durable.JournalJob](sched.OS().Parker())}
			former := &link{Link: &peers.Link{ID: 3, Dialled: true}, arrived: 22 * second}
			m.noting = former.ID
			m.Tracker.Follow()
			c := &client{}
			s, _ := m.Tracker.Adopt(own, 10_000, c, 11*second)
			m.Tracker.Unbind(s, c)
			m.silence.told(&link{Link: &peers.Link{ID: v.link, Dialled: true}, arrived: 12 * second},
				&peers.Packet{Type: peers.PacketSilent, Zxid: 1, Data: sessions.AppendSilent(nil,
					[]sessions.Silent{{ID: told, Heard: 10 * second}}, 12*second)})
			m.epoch = 4
			m.silence.followingEnds(&following{Env: m.Env, h: m, link: former})
			m.toJournal([]zab.Persist{v.write})
			require.Equal(t, v.want, m.silence.left(v.epoch, 32*second), "ten seconds without a leader do not count")
			require.Empty(t, m.silence.left(v.epoch, 32*second), "once")
		})
	}
}
