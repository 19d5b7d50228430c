package peers

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

func unhex(t testing.TB, words string) []byte {
	t.Helper()
	b := must.Do(hex.DecodeString(strings.ReplaceAll(words, " ", "")))(t)
	return b
}

// Captured from ZooKeeper 3.8.0 and 3.4.14. Source: quorum-protocol 16 vectors 3 to 5.
func TestCapturedNotifications(t *testing.T) {
	text := []byte(ensembleText)
	for _, v := range []struct {
		bytes string
		want  zab.Message
	}{
		{"000000b6 00000000 0000000000000002 0000000000000000 0000000000000001 0000000000000000 00000002 0000008a " +
			hex.EncodeToString(text),
			zab.Message{Type: zab.Notification, State: zab.Looking, Vote: zab.Vote{Leader: 2}, Round: 1,
				Version: 2, Config: text}},
		{"000000b6 00000002 0000000000000002 0000000000000000 0000000000000001 0000000000000001 00000002 0000008a " +
			hex.EncodeToString(text),
			zab.Message{Type: zab.Notification, State: zab.Leading, Vote: zab.Vote{Leader: 2, Epoch: 1}, Round: 1,
				Version: 2, Config: text}},
	} {
		frame := unhex(t, v.bytes)
		require.Equal(t, frame, appendElection(nil, &v.want))
		var got zab.Message
		require.True(t, must.Do(decodeElection(frame[4:], &got))(t))
		require.Equal(t, v.want, got)
	}
	var got zab.Message
	ok := must.Do(decodeElection(
		unhex(t, "00000000 0000000000000001 0000000000000000 0000000000000001 0000000000000000 00000001"), &got))(t)
	require.True(t, ok)
	require.Equal(t, zab.Message{Type: zab.Notification, Vote: zab.Vote{Leader: 1}, Round: 1}, got,
		"of 40 bytes the version is not read")
}

// The lengths that old servers send, and the lengths that no server sends.
func TestNotificationLengths(t *testing.T) {
	whole := appendElection(nil,
		&zab.Message{Type: zab.Notification, State: zab.Following, Round: 5, Version: 2, Config: []byte("c"),
			Vote: zab.Vote{Leader: 2, Zxid: proto.MakeZxid(3, 9), Epoch: 8}})[4:]
	for n := range len(whole) + 1 {
		var m zab.Message
		ok, err := decodeElection(whole[:n], &m)
		switch {
		case n < 28:
			require.False(t, ok)
			require.NoError(t, err, "short frames are dropped in silence")
		case n == 28:
			require.True(t, ok)
			require.EqualValues(t, 3, m.Vote.Epoch, "of the zxid")
			require.Zero(t, m.Version)
		case n == 40:
			require.True(t, ok)
			require.EqualValues(t, 8, m.Vote.Epoch)
			require.Zero(t, m.Version)
		case n == len(whole):
			require.True(t, ok)
			require.NoError(t, err)
			require.EqualValues(t, "c", m.Config)
		default:
			require.False(t, ok, n)
			require.ErrorIs(t, err, ErrFrame, n)
		}
	}
	var m zab.Message
	_, err := decodeElection(append(whole[:40:40], 0xff, 0xff, 0xff, 0xff), &m)
	require.ErrorContains(t, err, "configuration is null")
	old := append([]byte(nil), whole...)
	old[39] = 1 // a version without configuration
	require.True(t, must.Do(decodeElection(old, &m))(t))
	require.Nil(t, m.Config)
	require.EqualValues(t, 1, m.Version)
}

// A lineage stands behind the configuration, where servers in Java do not look: they read the same vote with and
// without it.
func TestNotificationWithLineage(t *testing.T) {
	for _, l := range []*zab.Lineage{lineage(), {}} {
		want := zab.Message{Type: zab.Notification, State: zab.Following, Round: 5, Version: 2, Config: []byte("c"),
			Lineage: l, Vote: zab.Vote{Leader: 2, Zxid: proto.MakeZxid(3, 9), Epoch: 8}}
		frame := appendElection(nil, &want)
		require.EqualValues(t, len(frame)-4, binary.BigEndian.Uint32(frame))
		var got zab.Message
		require.True(t, must.Do(decodeElection(frame[4:], &got))(t))
		require.Equal(t, want, got)

		plain := want
		plain.Lineage = nil
		short := appendElection(nil, &plain)
		require.Equal(t, short[4:], frame[4:len(short)])
		for n := len(short); n < len(frame); n++ { // cut short, or of a later version, it is none
			require.True(t, must.Do(decodeElection(frame[4:n], &got))(t))
			require.Equal(t, plain, got, n)
		}
		frame[len(short)+trailerSize+2]++
		require.True(t, must.Do(decodeElection(frame[4:], &got))(t))
		require.Equal(t, plain, got)
	}
}

// Probes are shorter than anything that Java takes for a notification.
func TestProbes(t *testing.T) {
	for _, want := range []zab.Message{
		{Type: zab.Probe, Nonce: 1<<64 - 1},
		{Type: zab.ProbeReply, Nonce: 42, Zxid: proto.MakeZxid(7, 9), Epoch: 0x7ffffffe},
		{Type: zab.ProbeReply, Nonce: 42, Zxid: -1},
	} {
		frame := appendElection(nil, &want)
		require.Less(t, len(frame)-4, notificationMin)
		require.EqualValues(t, len(frame)-4, frame[3])
		var got zab.Message
		require.True(t, must.Do(decodeElection(frame[4:], &got))(t))
		require.Equal(t, want, got)
		for _, other := range [][]byte{
			frame[4 : len(frame)-1], append(frame[4:len(frame):len(frame)], 0), append([]byte{0}, frame[5:]...),
		} {
			require.False(t, must.Do(decodeElection(other, &got))(t))
		}
	}
	require.Nil(t, appendElection(nil, &zab.Message{Type: zab.Ack}))
}

func FuzzNotification(f *testing.F) {
	f.Add(appendElection(nil, vote(1, 2))[4:])
	withLineage := vote(1, 2)
	withLineage.Lineage = lineage()
	f.Add(appendElection(nil, withLineage)[4:])
	f.Add(appendElection(nil, &zab.Message{Type: zab.Probe, Nonce: 1})[4:])
	f.Add(appendElection(nil, &zab.Message{Type: zab.ProbeReply, Nonce: 1, Zxid: 2, Epoch: 3})[4:])
	f.Add(make([]byte, 28))
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again zab.Message
		ok, err := decodeElection(b, &m)
		if !ok || err != nil {
			return
		}
		if m.Type == zab.Notification {
			m.Version = 2
			if m.Config == nil {
				m.Config = []byte{}
			}
		}
		ok = must.Do(decodeElection(appendElection(nil, &m)[4:], &again))(t)
		require.True(t, ok)
		require.Equal(t, m, again)
	})
}
