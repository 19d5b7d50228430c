package meta

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ snapshot.Catalogue = Store(nil)

// subject is a Store under test, with a way to come back after the server died.
type subject struct {
	Store
	restart func(t *testing.T) Store
	tmp     func(t *testing.T, epoch int64) // leaves a currentEpoch.tmp
}

func subjects(t *testing.T) map[string]func(t *testing.T) *subject {
	return map[string]func(t *testing.T) *subject{
		"mem": func(t *testing.T) *subject {
			m := NewMem(3)
			return &subject{Store: m,
				restart: func(*testing.T) Store { m.Crash(); return m },
				tmp:     func(_ *testing.T, epoch int64) { m.LeaveTmp(epoch) }}
		},
		"disk": func(t *testing.T) *subject {
			dir := t.TempDir()
			s := &subject{}
			open := func(t *testing.T) Store {
				db := must.Do(Open(Options{Dir: dir, ServerID: 3, Member: true}))(t)
				require.NoError(t, db.Rebuilt())
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				return db
			}
			s.Store = open(t)
			s.restart = func(t *testing.T) Store { require.NoError(t, s.Close()); return open(t) }
			s.tmp = func(t *testing.T, epoch int64) { writeFile(t, dir, "currentEpoch.tmp", epoch) }
			return s
		},
	}
}

func (s *subject) again(t *testing.T) { t.Helper(); s.Store = s.restart(t) }

// One set of rules for the disk and for the fake.
func TestConformance(t *testing.T) {
	rules := map[string]func(t *testing.T, s *subject){
		"starts with nothing": func(t *testing.T, s *subject) {
			require.Equal(t, Epochs{}, s.Epochs())
			_, ok := s.Config()
			require.False(t, ok)
			require.Empty(t, s.Snapshots())
			id := s.Identity()
			require.EqualValues(t, 3, id.ServerID)
			require.Len(t, id.Instance, 32)
			require.Positive(t, id.CreatedMs)
			s.again(t)
			require.Equal(t, id, s.Identity())
			require.Equal(t, Epochs{}, s.Epochs())
		},
		"epochs are durable when set": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(5))
			s.again(t)
			require.Equal(t, Epochs{Accepted: 5}, s.Epochs())
			require.NoError(t, s.SetCurrent(5, ""))
			s.again(t)
			require.Equal(t, Epochs{Accepted: 5, Current: 5}, s.Epochs())
			require.NoError(t, s.SetAccepted(5+EpochLeap))
			require.NoError(t, s.SetAccepted(5+EpochLeap))
			s.again(t)
			require.Equal(t, Epochs{Accepted: 5 + EpochLeap, Current: 5}, s.Epochs())
		},
		"addresses are kept": func(t *testing.T, s *subject) {
			require.Empty(t, s.Addresses())
			want := map[string][]string{"zk-1.example": {"10.0.0.1", "fe80::1%eth0"}, "zk-2.example": {"10.0.0.2"}}
			require.NoError(t, s.SetAddresses(want))
			require.Equal(t, want, s.Addresses())
			require.NoError(t, s.SetAccepted(5))
			s.again(t)
			require.Equal(t, want, s.Addresses())
			require.NoError(t, s.SetAddresses(nil))
			s.again(t)
			require.Empty(t, s.Addresses())
			require.Equal(t, Epochs{Accepted: 5}, s.Epochs())
		},
		"the base of session ids only rises": func(t *testing.T, s *subject) {
			require.Zero(t, s.SessionBase())
			require.NoError(t, s.SetSessionBase(1<<60+5))
			require.NoError(t, s.SetSessionBase(7))
			require.NoError(t, s.SetAccepted(5))
			require.EqualValues(t, 1<<60+5, s.SessionBase())
			s.again(t)
			require.EqualValues(t, 1<<60+5, s.SessionBase())
			require.Equal(t, Epochs{Accepted: 5}, s.Epochs())
		},
		"epochs never go back": func(t *testing.T, s *subject) {
			require.ErrorIs(t, s.SetAccepted(-1), ErrEpoch)
			require.ErrorIs(t, s.SetCurrent(1, ""), ErrEpoch, "above accepted")
			require.NoError(t, s.SetAccepted(5))
			require.NoError(t, s.SetCurrent(4, ""))
			require.ErrorIs(t, s.SetAccepted(4), ErrEpoch)
			require.ErrorIs(t, s.SetCurrent(3, ""), ErrEpoch)
			require.ErrorIs(t, s.SetCurrent(6, ""), ErrEpoch)
			s.again(t)
			require.Equal(t, Epochs{Accepted: 5, Current: 4}, s.Epochs())
		},
		"epochs that were never set come from the database": func(t *testing.T, s *subject) {
			e := must.Do(s.Reconcile(proto.MakeZxid(7, 3)))(t)
			require.Equal(t, Epochs{Accepted: 7, Current: 7}, e)
			s.again(t)
			require.Equal(t, Epochs{Accepted: 7, Current: 7}, s.Epochs())
		},
		"a fresh member has epoch 0": func(t *testing.T, s *subject) {
			require.Equal(t, Epochs{}, must.Do(s.Reconcile(0))(t))
			s.again(t)
			// Epoch 0 was set: a database that is ahead of it is now a contradiction.
			require.ErrorIs(t, must.Err(s.Reconcile(proto.MakeZxid(1, 1))), ErrEpoch)
		},
		"a database may lag behind its epochs": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(9))
			require.NoError(t, s.SetCurrent(8, ""))
			e := must.Do(s.Reconcile(proto.MakeZxid(2, 1)))(t)
			require.Equal(t, Epochs{Accepted: 9, Current: 8}, e)
		},
		"a database ahead of currentEpoch and acceptedEpoch is refused": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(4))
			require.NoError(t, s.SetCurrent(4, ""))
			_, err := s.Reconcile(proto.MakeZxid(5, 1))
			require.ErrorIs(t, err, ErrEpoch)
			require.ErrorContains(t, err, "currentEpoch is 4 but the last zxid is 0x500000001")
			require.Equal(t, Epochs{Accepted: 4, Current: 4}, s.Epochs())
		},
		"a database of an accepted epoch is a prefix of its history": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(9))
			require.NoError(t, s.SetCurrent(4, ""))
			e := must.Do(s.Reconcile(proto.MakeZxid(9, 1)))(t)
			require.Equal(t, Epochs{Accepted: 9, Current: 4}, e)
			require.ErrorIs(t, must.Err(s.Reconcile(proto.MakeZxid(10, 1))), ErrEpoch)
		},
		"unless currentEpoch.tmp explains it": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(4))
			require.NoError(t, s.SetCurrent(4, ""))
			s.tmp(t, 4)
			require.ErrorIs(t, must.Err(s.Reconcile(proto.MakeZxid(5, 1))), ErrEpoch, "too old")
			s.tmp(t, 5)
			require.ErrorIs(t, must.Err(s.Reconcile(proto.MakeZxid(5, 1))), ErrEpoch, "never accepted")
		},
		"a server is blank until that is taken back": func(t *testing.T, s *subject) {
			require.False(t, s.Blank(), "a directory without a mark may be that of a Java server")
			require.NoError(t, s.SetBlank(true))
			s.again(t)
			require.True(t, s.Blank())
			require.NoError(t, s.SetAccepted(5))
			require.NoError(t, s.SetCurrent(5, ""))
			must.Do(s.Reconcile(proto.MakeZxid(5, 1)))(t)
			s.again(t)
			require.True(t, s.Blank(), "whatever was received")
			require.NoError(t, s.SetBlank(false))
			s.again(t)
			require.False(t, s.Blank())
			require.Equal(t, Epochs{Accepted: 5, Current: 5}, s.Epochs())
		},
		"the lineage is durable with the epoch, and stays": func(t *testing.T, s *subject) {
			require.Empty(t, s.Lineage())
			require.NoError(t, s.SetAccepted(5))
			require.ErrorIs(t, s.SetCurrent(6, "six"), ErrEpoch)
			require.Empty(t, s.Lineage())
			require.NoError(t, s.SetCurrent(5, "five"))
			s.again(t)
			require.Equal(t, "five", s.Lineage())
			require.NoError(t, s.SetCurrent(5, ""))
			require.NoError(t, s.SetBlank(true))
			s.again(t)
			require.Equal(t, "five", s.Lineage())
			require.NoError(t, s.SetLineage("more"))
			s.again(t)
			require.Equal(t, "more", s.Lineage())
			require.Equal(t, Epochs{Accepted: 5, Current: 5}, s.Epochs())
		},
		"the configuration is durable": func(t *testing.T, s *subject) {
			c := Config{Version: 0x100000004, Text: "server.1=a:1:2:participant;3\nserver.2=b:1:2:observer;3"}
			require.NoError(t, s.SetConfig(Config{}))
			require.NoError(t, s.SetConfig(c))
			s.again(t)
			got, ok := s.Config()
			require.True(t, ok)
			require.Equal(t, c, got)
		},
		"an empty configuration is not none": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetConfig(Config{}))
			s.again(t)
			_, ok := s.Config()
			require.True(t, ok)
		},
		"the catalogue": func(t *testing.T, s *subject) {
			require.NoError(t, s.PutSnapshot("snapshot.5", 5, 100, 0xfffffff0))
			require.NoError(t, s.PutSnapshot("snapshot.a.gz", 10, 200, 2))
			require.NoError(t, s.PutSnapshot("snapshot.5", 5, 101, 0xfffffff1))
			require.NoError(t, s.DropSnapshot("snapshot.77"))
			s.again(t)
			size, sum, ok := s.Snapshot("snapshot.5")
			require.True(t, ok)
			require.EqualValues(t, 101, size)
			require.EqualValues(t, 0xfffffff1, sum)
			list := s.Snapshots()
			require.Len(t, list, 2)
			require.Equal(t, "snapshot.a.gz", list[0].Name)
			require.Positive(t, list[0].VerifiedMs)
			require.NoError(t, s.DropSnapshot("snapshot.5"))
			s.again(t)
			_, _, ok = s.Snapshot("snapshot.5")
			require.False(t, ok)
			require.Len(t, s.Snapshots(), 1)
		},
		"the catalogue is bounded": func(t *testing.T, s *subject) {
			if db, ok := s.Store.(*DB); ok {
				db.bolt.NoSync = true
			}
			put := func(z proto.Zxid) {
				require.NoError(t, s.PutSnapshot(snapshot.FileName(z, snapshot.Plain), z, 9, 9))
			}
			for z := range proto.Zxid(snapshotsMax + 10) { // nobody tells the server that the files were removed
				put(100 + z)
			}
			put(snapshotsMax + 109) // again
			put(1)                  // of an earlier epoch, and yet the newest file
			s.again(t)
			list := s.Snapshots()
			require.Equal(t, snapshotsMax, len(list))
			require.Equal(t, []proto.Zxid{snapshotsMax + 109, 111, 1},
				[]proto.Zxid{list[0].Zxid, list[snapshotsMax-2].Zxid, list[snapshotsMax-1].Zxid})
		},
		"nothing changes after Close": func(t *testing.T, s *subject) {
			require.NoError(t, s.SetAccepted(1))
			require.NoError(t, s.Close())
			require.ErrorIs(t, s.SetAccepted(2), ErrClosed)
			require.ErrorIs(t, s.SetCurrent(1, ""), ErrClosed)
			require.ErrorIs(t, s.SetBlank(true), ErrClosed)
			require.ErrorIs(t, s.PutSnapshot("snapshot.1", 1, 1, 1), ErrClosed)
			require.NoError(t, s.Close())
			s.again(t)
			require.Equal(t, Epochs{Accepted: 1}, s.Epochs())
		},
	}
	for kind, make := range subjects(t) {
		for name, rule := range rules {
			t.Run(kind+"/"+name, func(t *testing.T) { rule(t, make(t)) })
		}
	}
}
