package host

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

const rosterText = "server.1=a:1:2:participant;0.0.0.0:2181\nserver.2=b:1:2:participant;0.0.0.0:2181\n" +
	"server.3=c:1:2:observer;0.0.0.0:2181"

// reconfiguration is the payload of a reconfiguration to text.
func reconfiguration(z proto.Zxid, op proto.OpCode, text string) zab.Txn {
	h := proto.TxnHeader{ClientID: 7, Cxid: 1, Zxid: z, Time: 5, Type: op}
	body := proto.SetDataTxn{Path: proto.Text(datatree.ConfigPath), Data: []byte(text), Version: -1}
	return zab.Txn{Zxid: z, Payload: body.AppendTo(h.AppendTo(nil))}
}

// Source: quorum-protocol 11.1, 11.4.
func TestRosterReadsReconfigurations(t *testing.T) {
	const z = proto.Zxid(0x10000001b)
	e := must.Do(roster{}.Proposed(reconfiguration(z, proto.OpReconfig, rosterText+"\nversion=10000001b")))(t)
	require.Equal(t, z, e.Version)
	require.Equal(t, []proto.ServerID{1, 2}, e.Quorum.Voters())
	require.Equal(t, []proto.ServerID{3}, e.Observers)
	require.Equal(t, rosterText, string(e.Text))
	require.Equal(t, e, must.Do(roster{}.Parse(e.Wire()))(t))

	for _, op := range []proto.OpCode{proto.OpSetData, proto.OpCreate, proto.OpError, proto.OpCloseSession} {
		e = must.Do(roster{}.Proposed(reconfiguration(z, op, rosterText)))(t)
		require.Nil(t, e)
	}
	for _, text := range []string{"", "server.1=a", "server.1=a:1:2:observer", rosterText + "\ngroup.1=1",
		"tickTime=2"} {
		require.Error(t, must.Err(roster{}.Proposed(reconfiguration(z, proto.OpReconfig, text))), text)
	}
	whole := reconfiguration(z, proto.OpReconfig, rosterText).Payload
	for n := range whole[proto.TxnHeaderSize:] {
		require.Error(t, must.Err(roster{}.Proposed(zab.Txn{Zxid: z, Payload: whole[:proto.TxnHeaderSize+n]})), n)
	}
}

// Groups consist of voters: an observer that is listed in one does not count.
func TestRosterOfGroups(t *testing.T) {
	e := must.Do(roster{}.Parse([]byte(rosterText + "\nserver.4=d:1:2\nserver.5=e:1:2\n" +
		"group.1=1:3:9\ngroup.2=2\ngroup.3=4:5\nweight.1=2\nversion=5")))(t)
	require.Equal(t, []proto.ServerID{1, 2, 4, 5}, e.Quorum.Voters())
	require.True(t, e.Quorum.Decides(1, 2))
	require.False(t, e.Quorum.Decides(2, 3, 9, 4))
}

// Every txn is examined for a configuration, so that must not allocate.
func TestRosterDoesNotAllocate(t *testing.T) {
	txn := reconfiguration(9, proto.OpSetData, rosterText)
	var r zab.Roster = roster{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if e, err := r.Proposed(txn); e != nil || err != nil {
			panic("it is none")
		}
	}))
}

func FuzzRoster(f *testing.F) {
	f.Add(reconfiguration(9, proto.OpReconfig, rosterText+"\nversion=9").Payload)
	f.Add(reconfiguration(9, proto.OpReconfig, "server.1=[::1]:1:2|b:3:4;;5\ngroup.1=1\nweight.1=2").Payload)
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := roster{}.Proposed(zab.Txn{Payload: payload})
		if e == nil || err != nil {
			return
		}
		require.Equal(t, e, must.Do(roster{}.Parse(e.Wire()))(t))
	})
}

// The znode tells the last configuration only if the servers themselves have written it.
func TestConfigurationInTheState(t *testing.T) {
	s := datatree.NewState(datatree.Config{})
	require.Nil(t, newestConfiguration(s), "there is none at first")
	s.SetConfig([]byte(rosterText+"\nversion=5"), 5, 0)
	require.EqualValues(t, 5, newestConfiguration(s).Version)
	apply := func(txn zab.Txn) {
		_, applied := must.Do2(s.Apply(txn.Payload, nil, nil, false))(t)
		require.Equal(t, proto.OK, applied.Err)
	}
	apply(reconfiguration(0x100000001, proto.OpReconfig, rosterText+"\nversion=100000001"))
	require.EqualValues(t, 0x100000001, newestConfiguration(s).Version)
	h := proto.TxnHeader{ClientID: 7, Cxid: 1, Zxid: 0x100000002, Type: proto.OpSetData}
	forged := proto.SetDataTxn{Path: proto.Text(datatree.ConfigPath),
		Data: []byte(rosterText + "\nversion=100000002"), Version: 0}
	apply(zab.Txn{Zxid: h.Zxid, Payload: forged.AppendTo(h.AppendTo(nil))})
	require.Nil(t, newestConfiguration(s))
}

// A server that starts knows the committed configuration, and may have the txn of a later one in its history. What
// clients read at a zxid is what the txn has made.
func TestLaterConfigurationStays(t *testing.T) {
	a, _ := must.Do2(recovered(vfs.NewMem(), meta.NewMem(1)))(t)
	defer a.release()
	m := a.member
	m.Config.ReconfigEnabled = true
	set := func(version proto.Zxid) string {
		e := must.Do(roster{}.Parse([]byte(rosterText + fmt.Sprintf("\nversion=%x", int64(version)))))(t)
		setConfig(m.Env, m.QuorumWith(e), false)
		return string(m.Store.State.Data(m.Store.State.Lookup(configPath)))
	}
	require.Contains(t, set(0x100000000), "version=100000000")
	txn := reconfiguration(0x100000001, proto.OpReconfig, rosterText+"\nversion=100000001")
	must.Do2(m.Store.State.Apply(txn.Payload, nil, nil, false))(t)
	made := m.Store.State.Node(m.Store.State.Lookup(configPath))
	for _, version := range []proto.Zxid{0x100000000, 0x100000001} {
		require.Contains(t, set(version), "version=100000001")
		require.Equal(t, made, m.Store.State.Node(m.Store.State.Lookup(configPath)))
	}
	require.Contains(t, set(0x100000002), "version=100000001", "its txn is not applied yet")
	require.Contains(t, set(0x200000000), "version=200000000", "no txn makes the first one")
}
