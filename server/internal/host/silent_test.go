package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
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
