package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// roomWatermark is the free space below which the servers of these tests report that they have no room.
const roomWatermark = 1 << 20

// withWatermark starts servers with a watermark on disks of any size.
func withWatermark(t *testing.T, servers int) *embed.Ensemble {
	t.Helper()
	return embed.Start(t, embed.Options{TickTime: patient, Servers: servers, Observers: 1,
		Configure: func(_ int, c *config.Config) {
			c.DiskWatermark.Bytes = roomWatermark
		}})
}

// leave shrinks the disk of a server until only the given number of bytes is free.
func leave(e *embed.Ensemble, id int, free int64) { e.Disk(id).SetCapacity(e.Disk(id).Used() + free) }

// untilAnswer sets the data of a znode at a server, with new connections if necessary, until it gets the wanted
// answer.
func untilAnswer(t *testing.T, e *embed.Ensemble, id int, path string, want proto.ErrCode) {
	t.Helper()
	until(t, want.Error(), func() bool {
		c, err := wire.Dial(e.Addr(id), wire.Options{})
		if err != nil {
			return false
		}
		defer c.Close()
		_, err = c.SetData(path, []byte("x"), -1)
		_ = c.CloseSession() // or it expires
		if want == proto.OK {
			return err == nil
		}
		return errors.Is(err, want)
	})
}

// A leader without room hands over to a server with room. Every server takes writes, including the full one,
// because its disk is written for the writes of all clients.
func TestLeaderWithoutRoomHandsOver(t *testing.T) {
	for name, free := range map[string]int64{"below the watermark": roomWatermark / 2, "not a byte": 0} {
		t.Run(name, func(t *testing.T) {
			e := withWatermark(t, 3)
			full, _, _ := roles(t, e)
			c := connect(t, e, full, wire.Options{})
			fill(t, c, "/n", 10)
			leave(e, full, free)
			if free == 0 {
				// Its log waits for room.
				c.Send(wire.Create("/stuck", make([]byte, 1000), wire.OpenACL, proto.ModePersistent))
			}
			until(t, "another leader", func() bool {
				now, err := e.Leader(within(t))
				return err == nil && now != full
			})
			for _, id := range e.IDs() {
				if id != full || free > 0 {
					untilAnswer(t, e, id, "/n00001", proto.OK)
				}
			}
			leave(e, full, 64<<20)
			require.NoError(t, e.WaitServing(within(t), e.IDs()...))
			untilAnswer(t, e, full, "/n00001", proto.OK)
			require.NoError(t, e.WaitEqual(within(t)))
		})
	}
}

// Without room at a quorum all servers refuse writes, those with room too. Reads and sessions go on. With room
// again, writes go on as well.
func TestEnsembleWithoutRoomRefusesWrites(t *testing.T) {
	e := withWatermark(t, 3)
	leader, follower, observer := roles(t, e)
	fill(t, connect(t, e, leader, wire.Options{}), "/n", 10)
	leave(e, leader, roomWatermark/2)
	leave(e, follower, roomWatermark/2)
	for _, id := range e.IDs() {
		untilAnswer(t, e, id, "/n00001", proto.ErrNotReadOnly)
		until(t, "a session that reads", func() bool { // the leader may just be changing
			c, err := wire.Dial(e.Addr(id), wire.Options{})
			if err != nil {
				return false
			}
			defer c.Close()
			_, err = c.Exists("/n00009", false)
			return err == nil
		})
	}
	for _, id := range []int{leader, follower} {
		leave(e, id, 64<<20)
	}
	for _, id := range e.IDs() {
		untilAnswer(t, e, id, "/n00001", proto.OK)
	}
	leave(e, observer, roomWatermark/2) // an observer does not count
	untilAnswer(t, e, observer, "/n00001", proto.OK)
	require.NoError(t, e.WaitEqual(within(t)))
}

// Followers that run out of room beside a leader with room tell the leader. It refuses writes before the followers
// with room are too few for a quorum.
func TestLeaderHearsThatFollowersHaveNoRoom(t *testing.T) {
	e := withWatermark(t, 3)
	leader, _, _ := roles(t, e)
	fill(t, connect(t, e, leader, wire.Options{}), "/n", 10)
	var others []int
	for _, id := range e.IDs() {
		if e.Server(id).Status().Mode == "follower" {
			others = append(others, id)
		}
	}
	require.Len(t, others, 2)
	leave(e, others[0], roomWatermark/2)
	untilAnswer(t, e, others[0], "/n00001", proto.OK)
	leave(e, others[1], roomWatermark/2)
	for _, id := range e.IDs() {
		untilAnswer(t, e, id, "/n00001", proto.ErrNotReadOnly)
	}
	require.Equal(t, leader, leaderOf(t, e))
	leave(e, others[0], 64<<20)
	for _, id := range e.IDs() {
		untilAnswer(t, e, id, "/n00001", proto.OK)
	}
}

// A leader whose disk stands still hands over, though the others commit without it: it would keep all that they commit
// in memory, and only two servers would have it. When the disk goes on, the server follows.
func TestLeaderWhoseDiskStandsStillHandsOver(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	e := embed.Start(t, embed.Options{Servers: 3, Log: zap.New(core)})
	still, other, _ := roles(t, e)
	c := connect(t, e, other, wire.Options{})
	goOn := make(chan struct{})
	open := sync.OnceFunc(func() { close(goOn) })
	defer open()
	e.Disk(still).Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			<-goOn
		}
		return nil
	})
	require.NoError(t, must.Err(c.Create("/without", nil, proto.ModePersistent)), "a write that the others commit")
	until(t, "another leader", func() bool {
		now, err := e.Leader(within(t))
		return err == nil && now != still
	})
	require.Equal(t, 1, logs.FilterMessage(
		"handing over to a server with a faster disk: the disk of this leader lags behind").Len())
	open()
	e.Disk(still).Hook(nil)
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	untilAnswer(t, e, still, "/without", proto.OK)
	require.NoError(t, e.WaitEqual(within(t)))
}

// Clients of an observer whose log waits for room are let go after syncLimit, as those of a follower are. They would
// wait for their requests until there is room, and could not know that what they read is old.
func TestObserverWithoutRoomLetsItsClientsGo(t *testing.T) {
	e := withWatermark(t, 3)
	leader, _, observer := roles(t, e)
	at := connect(t, e, leader, wire.Options{})
	c := connect(t, e, observer, wire.Options{TimeoutMs: 60_000, Reply: 20 * time.Second})
	leave(e, observer, 0)
	large := bytes.Repeat([]byte("x"), 256<<10)
	for i := range 8 {
		_, err := at.Create(fmt.Sprintf("/large%d", i), large, proto.ModePersistent)
		require.NoError(t, err, "the others have room")
	}
	require.NoError(t, c.WaitClosed())
	fill(t, at, "/meanwhile", 10)
	e.Disk(observer).SetCapacity(0)
	require.NoError(t, e.WaitServing(within(t), observer))
	require.NoError(t, e.WaitEqual(within(t)))
	present(t, connect(t, e, observer, wire.Options{}), "/meanwhile", 10)
}
