package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// A learner sends requests as soon as it has UPTODATE. A leader of servers in Java serves only when its first txn
// is committed. None of the requests may be lost: a learner in Java that misses one answer would answer no client
// any more.
func TestRequestsBeforeTheLeaderServesAreKept(t *testing.T) {
	s, cfg := must.Do2(recovered(vfs.NewMem(), meta.NewMem(1)))(t)
	defer s.release()
	m := s.member
	m.core = must.Do(zab.New(cfg))(t)
	learner := &link{Link: &peers.Link{ID: 7, Peer: 2}}
	request := &peers.Packet{Type: proto.PacketRequest, Zxid: -1, Data: make([]byte, 16)}
	m.forRole(learner, request)
	require.Empty(t, m.opening.early, "of a server that does not lead")
	m.changed(zab.Status{State: zab.Leading, Phase: zab.Broadcast, Leader: 1, Epoch: 4})
	m.forRole(learner, request)
	require.Len(t, m.opening.early, 1)
	m.changed(zab.Status{State: zab.Looking, Leader: -1})
	require.Empty(t, m.opening.early, "the leadership is over")
}

// A leader may end after it has sent COMMITs and before it is established. A sync that is answered under the next
// leader must not wait for these commits, because they may never arrive.
func TestCommitsOfAnEarlierLeaderAreForgotten(t *testing.T) {
	s, cfg := must.Do2(recovered(vfs.NewMem(), meta.NewMem(1)))(t)
	defer s.release()
	m := s.member
	m.core = must.Do(zab.New(cfg))(t)
	m.changed(zab.Status{State: zab.Following, Phase: zab.Synchronization, Leader: 3, Master: 3, Epoch: 6})
	m.reach.committed, m.reach.seen = proto.MakeZxid(6, 9), proto.MakeZxid(6, 12)
	m.changed(zab.Status{State: zab.Looking, Leader: -1, Master: -1})
	require.Equal(t, m.reach.delivered, m.reach.committed)
	require.Equal(t, m.reach.delivered, m.reach.seen)
}

// The core may end a role in the turn in which the applier lets that role begin. Then the role does not begin: a
// leader would number its txns as one that does not lead.
func TestRoleThatHasEndedDoesNotBegin(t *testing.T) {
	s, cfg := must.Do2(recovered(vfs.NewMem(), meta.NewMem(1)))(t)
	defer s.release()
	m := s.member
	m.core = must.Do(zab.New(cfg))(t)
	m.opening.on = true
	m.mayOpen(m.generation.Load(), zab.Leading)
	require.Nil(t, m.role, "the core looks for a leader")
}
