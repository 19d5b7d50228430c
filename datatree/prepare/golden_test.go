package prepare

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// The logs that ZooKeeper wrote, from an empty tree on. Each txn is turned back into the request
// that leads to it, and must come out of Prepare as the same bytes: parent's cversion, versions
// and the digest of the tree included. Txns that cannot be turned back (errors, failed multis) are only
// applied; lists of several ephemerals are in Java's hash order, so they are compared as sets.
func TestPrepareWritesWhatZooKeeperWrote(t *testing.T) {
	prepared := map[proto.OpCode]int{}
	for _, dir := range []string{
		"zookeeper-3.8/02-snapshot-and-log", "zookeeper-3.8/11-tiny", "zookeeper-3.8/12-fuzzy-recreate",
		"zookeeper-3.10-snapshot/01-tiny",
	} {
		logs := must.Glob(t, filepath.Join("../../test/testdata/fixtures", dir, "version-2", "log.*"))
		require.NotEmpty(t, logs, dir)
		s := datatree.NewState(datatree.Config{})
		cfg := DefaultConfig()
		cfg.ExtendedTypes = true
		p := New(s, cfg)
		for _, log := range logs {
			for _, payload := range readLog(t, log) {
				var h proto.TxnHeader
				require.NoError(t, h.ReadFrom(payload))
				if req, ok := requestOf(t, h, payload[proto.TxnHeaderSize:]); ok {
					got, code, ok := p.Prepare(nil, &req, h.Zxid, h.Time)
					restoreCreate2(t, got, p.Create2())
					require.True(t, ok)
					require.Equal(t, proto.OK, code, "%s: %v at %v", dir, h.Type, h.Zxid)
					if h.Type == proto.OpCloseSession {
						require.Equal(t, sortedList(t, payload), sortedList(t, got), "%s: %v at %v",
							dir, h.Type, h.Zxid)
					} else {
						require.Equal(t, payload, got, "%s: %v at %v", dir, h.Type, h.Zxid)
					}
					prepared[h.Type]++
				}
				_, a := must.Do2(s.Apply(payload, nil, nil, false))(t)
				require.False(t, a.DigestMismatch)
			}
		}
	}
	for _, op := range []proto.OpCode{proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL,
		proto.OpDelete, proto.OpSetData, proto.OpSetACL, proto.OpMulti, proto.OpCreateSession, proto.OpCloseSession} {
		require.NotZero(t, prepared[op], "no fixture has %v", op)
	}
}

// restoreCreate2 writes create2 back into a multi where it was asked for: ZooKeeper has logged it so
// since 3.9, we log create, which older servers can read too.
func restoreCreate2(t *testing.T, payload []byte, create2 []int32) {
	if len(create2) == 0 {
		return
	}
	var txn proto.MultiTxn
	require.NoError(t, txn.ReadFrom(payload[proto.TxnHeaderSize:]))
	for _, i := range create2 {
		require.Equal(t, proto.OpCreate, txn.Txns[i].Type)
		txn.Txns[i].Type = proto.OpCreate2
	}
	copy(payload[proto.TxnHeaderSize:], txn.AppendTo(nil))
}

// readLog returns the payloads of a log of ZooKeeper. Source: storage 4.1.
func readLog(t *testing.T, name string) (payloads [][]byte) {
	b := must.ReadFile(t, name)
	for b = b[16:]; len(b) > 12; {
		n := int(binary.BigEndian.Uint32(b[8:]))
		if n == 0 {
			break
		}
		payloads = append(payloads, b[12:12+n])
		require.EqualValues(t, 'B', b[12+n])
		b = b[12+n+1:]
	}
	return payloads
}

// requestOf returns the request that leads to a txn, from a connection that may do everything.
func requestOf(t *testing.T, h proto.TxnHeader, body []byte) (Request, bool) {
	req := Request{Session: h.ClientID, Cxid: h.Cxid, Op: h.Type, Identities: []auth.Identity{auth.SuperIdentity("")}}
	if h.Type == proto.OpMulti {
		var txn proto.MultiTxn
		require.NoError(t, txn.ReadFrom(body))
		m := new(multiOf)
		for _, sub := range txn.Txns {
			r, ok := recordOf(t, sub.Type, sub.Data)
			if !ok {
				return req, false
			}
			m.add(sub.Type, r)
		}
		req.Body = m.AppendTo(nil)
		return req, true
	}
	r, ok := recordOf(t, h.Type, body)
	if ok && r != nil {
		req.Body = r.AppendTo(nil)
	}
	return req, ok
}

func recordOf(t *testing.T, op proto.OpCode, body []byte) (encodable, bool) {
	mode := func(ephemeral bool) int32 {
		if ephemeral {
			return int32(proto.ModeEphemeral)
		}
		return int32(proto.ModePersistent)
	}
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		var txn proto.CreateTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.CreateRequest{Path: txn.Path, Data: txn.Data, Acl: txn.Acl, Flags: mode(txn.Ephemeral)}, true
	case proto.OpCreateContainer:
		var txn proto.CreateContainerTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.CreateRequest{Path: txn.Path, Data: txn.Data, Acl: txn.Acl, Flags: int32(proto.ModeContainer)},
			true
	case proto.OpCreateTTL:
		var txn proto.CreateTTLTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.CreateTTLRequest{Path: txn.Path, Data: txn.Data, Acl: txn.Acl,
			Flags: int32(proto.ModePersistentTTL), Ttl: txn.Ttl}, true
	case proto.OpDelete, proto.OpDeleteContainer:
		var txn proto.DeleteTxn
		require.NoError(t, txn.ReadFrom(body))
		if op == proto.OpDeleteContainer {
			return &proto.PathRequest{Path: txn.Path}, true
		}
		return &proto.DeleteRequest{Path: txn.Path, Version: -1}, true
	case proto.OpSetData:
		var txn proto.SetDataTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.SetDataRequest{Path: txn.Path, Data: txn.Data, Version: txn.Version - 1}, true
	case proto.OpSetACL:
		var txn proto.SetACLTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.SetACLRequest{Path: txn.Path, Acl: txn.Acl, Version: txn.Version - 1}, true
	case proto.OpCheck:
		var txn proto.CheckVersionTxn
		require.NoError(t, txn.ReadFrom(body))
		return &proto.CheckVersionRequest{Path: txn.Path, Version: txn.Version - 1}, true
	case proto.OpCreateSession:
		var txn proto.CreateSessionTxn
		require.NoError(t, txn.ReadFrom(body))
		return &txn, true
	case proto.OpCloseSession:
		return nil, true
	}
	return nil, false
}
