package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/host/observers"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A leader may bring a server back to a lower zxid than that of its own log, by TRUNC or by SNAP. A sync then waits
// for what this leader has told of, not for what the server had before, and not for less.
func TestSyncAfterTheServerWasBroughtBack(t *testing.T) {
	z := func(counter uint32) proto.Zxid { return proto.MakeZxid(3, counter) }
	for name, write := range map[string]zab.Persist{
		"TRUNC":   {Truncate: true, Last: z(50)},
		"SNAP":    {Install: &zab.Install{Last: z(50)}},
		"nothing": {},
	} {
		for _, told := range []proto.Zxid{z(60), z(70), z(71)} { // z(71): nothing is delivered before the role begins
			t.Run(name, func(t *testing.T) {
				m := leased(t, 2, 1, 2, 3)
				m.applier = serve.NewApplyQueue(serve.New(m.Env, nil), &m.Queued, &m.Finished)
				m.journal = &durable.Journal{Jobs: flow.NewInbox[durable.JournalJob](sched.OS().Parker())}
				m.reach = reach{z(200), z(200), z(200)} // as its log ended, or a former leader said
				m.status = zab.Status{State: zab.Following, Leader: 3}
				m.changed(zab.Status{State: zab.Looking, Leader: -1})
				m.changed(zab.Status{State: zab.Following, Leader: 1, Master: 1})
				link := &link{Link: &peers.Link{ID: 7, Peer: 1, Dialled: true}}
				m.links.open[7] = link
				if name == "nothing" {
					m.reach.delivered = z(50)
				} else {
					m.toJournal([]zab.Persist{write})
				}
				deliver := func(at proto.Zxid) {
					h := proto.TxnHeader{Zxid: at, Type: proto.OpError}
					m.deliver([]zab.Txn{{Zxid: at, Payload: h.AppendTo(nil)}})
				}
				m.reach.told(told) // as arrived does
				if told != z(71) {
					deliver(z(60))
				}
				f := &following{Env: m.Env, h: m, link: link, pending: map[proto.SessionID]*flow.FIFO[forwarded]{}}
				f.below, m.role = observers.New(f.needs()), f
				s := m.Tracker.Create(10_000, &client{}, 0)
				flow.QueueOf(f.pending, s.ID).Push(forwarded{item: flow.Item{Session: s, Op: proto.OpSync, Xid: 1}})
				f.syncs.Push(syncer{session: s.ID})
				f.Packet(link, &peers.Packet{Type: proto.PacketSync})
				require.Equal(t, told > z(60), f.pending[s.ID] != nil, "whether it waits for %v", told)
				deliver(max(told, z(70)))
				require.Nil(t, f.pending[s.ID], "all that the leader had told of is delivered")
			})
		}
	}
}
