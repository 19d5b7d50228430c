package peers

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// captured returns packets that were captured from ZooKeeper, by their label. Source: quorum-protocol 16.
func captured(t testing.TB) map[string][]byte {
	t.Helper()
	f := must.Do(os.Open(filepath.Join("..", "..", "proto", "testdata", "golden", "quorum.hex")))(t)
	defer f.Close()
	packets := map[string][]byte{}
	label := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		text, _, _ := strings.Cut(s.Text(), "#")
		words := strings.Fields(text)
		if len(words) > 0 && !strings.HasPrefix(text, " ") {
			label, words = words[0], words[1:]
		}
		b := must.Do(hex.DecodeString(strings.Join(words, "")))(t)
		if len(b) > 0 {
			packets[label] = append(packets[label], b...)
		}
	}
	require.Greater(t, len(packets), 30)
	return packets
}

const ensembleText = "server.1=127.0.0.1:23011:23021:participant\nserver.2=127.0.0.1:23012:23022:participant\n" +
	"server.3=127.0.0.1:23013:23023:participant\nversion=0"

// testLink is a link of server 2 with server 7, without a connection.
func testLink() *Link {
	return newLink(&Peers{rt: sched.OS(), cfg: Config{ID: 2, Limits: DefaultLimits()}}, 5, 7)
}

func decodeWhole(t testing.TB, b []byte) Packet {
	t.Helper()
	var p Packet
	require.Equal(t, len(b), must.Do(p.decode(b, 1<<20))(t))
	require.NoError(t, p.check())
	return p
}

// Every captured packet is decoded, encodes to the same bytes again, and no prefix of it is taken for a packet.
func TestCapturedPackets(t *testing.T) {
	for label, b := range captured(t) {
		p := decodeWhole(t, b)
		require.Equal(t, b, p.AppendTo(nil), label)
		for n := range b {
			var q Packet
			got, err := q.decode(b[:n], 1<<20)
			require.NoError(t, err, "%s %d", label, n)
			require.Zero(t, got, "%s %d", label, n)
		}
		var m zab.Message
		n, ok := MessageOf(testLink(), []Packet{p}, &m)
		require.Equal(t, 1, n)
		if !ok {
			continue
		}
		require.Equal(t, [4]int64{7, 2, 5, int64(m.Type)},
			[4]int64{int64(m.From), int64(m.To), int64(m.Link), int64(m.Type)}, label)
		switch p.Type {
		case proto.PacketFollowerInfo, proto.PacketObserverInfo:
			m.From = proto.ServerID(binary.BigEndian.Uint64(p.Data))
			if len(p.Data) < learnerInfoSize {
				continue // 3.4 sends less than we do
			}
		case proto.PacketSnap:
			continue // SendSnapshot
		case proto.PacketPing:
			if p.Data != nil {
				continue // the host's answer
			}
		}
		require.Equal(t, b, AppendMessage(nil, &m), label)
	}
}

// What a captured packet means.
func TestCapturedMeanings(t *testing.T) {
	z := func(counter uint32) proto.Zxid { return proto.MakeZxid(1, counter) }
	packets := captured(t)
	txn := decodeWhole(t, packets["Q24"])
	for label, want := range map[string]zab.Message{
		"Q6":   {Type: zab.FollowerInfo},
		"Q7":   {Type: zab.FollowerInfo, Epoch: 1, Zxid: z(0), ConfigVersion: 0x100000000},
		"Q8":   {Type: zab.FollowerInfo},
		"Q9":   {Type: zab.ObserverInfo, ConfigVersion: 0x100000000},
		"Q10":  {Type: zab.LeaderInfo, Epoch: 1, Zxid: z(0)},
		"Q11":  {Type: zab.AckEpoch},
		"Q12":  {Type: zab.AckEpoch, Epoch: -1, Zxid: z(0xb)},
		"Q13":  {Type: zab.AckEpoch, Epoch: 1, Zxid: z(0x1b)},
		"Q14":  {Type: zab.Diff, Zxid: z(0x10)},
		"Q15":  {Type: zab.Trunc, Zxid: z(2)},
		"Q16":  {Type: zab.Snap, Zxid: z(0)},
		"Q18":  {Type: zab.NewLeader, Epoch: 1, Zxid: z(0), Config: []byte(ensembleText)},
		"Q19":  {Type: zab.Ack, Zxid: z(0)},
		"Q20":  {Type: zab.UpToDate, Zxid: -1},
		"Q24":  {Type: zab.Proposal, Txns: []zab.Txn{{Zxid: z(2), Payload: txn.Data}}},
		"Q26b": {Type: zab.Commit, Zxid: z(2)},
		"Q32b": {Type: zab.SyncReply},
		"Q36":  {Type: zab.Ping, Zxid: z(0)},
		"Q37b": {Type: zab.Ping, Zxid: z(9)},
		"Q41":  {Type: zab.Activate, Zxid: z(0x12), Leader: 2},
		"Q41b": {Type: zab.Activate, Zxid: z(0x1b), Leader: 1},
	} {
		var m zab.Message
		_, ok := MessageOf(testLink(), []Packet{decodeWhole(t, packets[label])}, &m)
		require.True(t, ok, label)
		want.From, want.To, want.Link = 7, 2, 5
		require.Equal(t, want, m, label)
	}
	for _, label := range []string{"Q21", "Q32", "Q38", "Q38b", "Q40"} {
		var m zab.Message
		n, ok := MessageOf(testLink(), []Packet{decodeWhole(t, packets[label])}, &m)
		require.False(t, ok, label)
		require.Equal(t, 1, n)
	}
	inform := decodeWhole(t, packets["Q39"])
	var m zab.Message
	n, ok := MessageOf(testLink(), []Packet{inform, inform, txn}, &m)
	require.True(t, ok)
	require.Equal(t, 2, n)
	require.Equal(t, zab.Message{Type: zab.Inform, From: 7, To: 2, Link: 5,
		Txns: []zab.Txn{{Zxid: z(0x11), Payload: inform.Data}, {Zxid: z(0x11), Payload: inform.Data}}}, m)
}

// What only Warren says survives the way, and looks to others like what they know.
func TestTrailer(t *testing.T) {
	for _, want := range []zab.Message{
		{Type: zab.FollowerInfo, Epoch: 3, Zxid: proto.MakeZxid(3, 0), ConfigVersion: 9, Warren: true},
		{Type: zab.FollowerInfo, Warren: true, Blank: true},
		{Type: zab.FollowerInfo, Warren: true, Repeat: true},
		{Type: zab.FollowerInfo, Warren: true, Blank: true, Repeat: true},
		{Type: zab.ObserverInfo, Warren: true},
		{Type: zab.LeaderInfo, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Warren: true},
		{Type: zab.HandOver, Leader: 3},
		{Type: zab.NewLeader, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Config: []byte("a"), Active: []byte("a")},
		{Type: zab.NewLeader, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Config: []byte("a"), Active: []byte("b")},
		{Type: zab.FollowerInfo, Warren: true, Repeat: true, Lineage: lineage()},
		{Type: zab.FollowerInfo, Warren: true, Blank: true, Whole: true, Lineage: &zab.Lineage{}},
		{Type: zab.ObserverInfo, Warren: true, Whole: true, Lineage: lineage()},
		{Type: zab.LeaderInfo, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Warren: true, Lineage: lineage()},
		{Type: zab.LeaderInfo, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Warren: true, Refused: true, Lineage: lineage()},
		{Type: zab.NewLeader, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Config: []byte("a"), Active: []byte("a"),
			Lineage: lineage()},
		{Type: zab.NewLeader, Epoch: 4, Zxid: proto.MakeZxid(4, 0), Config: []byte("a"), Active: []byte("b"),
			Lineage: lineage()},
	} {
		want.From, want.To, want.Link = 7, 2, 5
		b := AppendMessage(nil, &want)
		p := decodeWhole(t, b)
		var got zab.Message
		n, ok := MessageOf(testLink(), []Packet{p}, &got)
		require.True(t, ok)
		require.Equal(t, 1, n)
		require.Equal(t, want, got)

		switch want.Type {
		case zab.HandOver:
			continue
		case zab.NewLeader:
			require.Equal(t, "a\x00", string(p.Data[:2]))
			continue
		}
		plain := want
		plain.Warren, plain.Blank, plain.Repeat, plain.Whole, plain.Refused = false, false, false, false, false
		plain.Lineage = nil
		q := decodeWhole(t, AppendMessage(nil, &plain))
		require.Equal(t, q.Data, p.Data[:len(q.Data)])
		size := len(q.Data) + trailerSize
		if want.Lineage != nil {
			whole := p.Data
			p.Data = append(slices.Clone(whole[:size+2]), 1) // a lineage that cannot be read is none
			MessageOf(testLink(), []Packet{p}, &got)
			none := want
			none.Lineage = nil
			require.Equal(t, none, got)
			p.Data, size = whole, size+2+len(want.Lineage.AppendTo(nil))
		}
		require.Len(t, p.Data, size)
		p.Data = append(p.Data, 1, 2, 3) // a later version may add to it
		MessageOf(testLink(), []Packet{p}, &got)
		require.Equal(t, want, got)
		p.Data[len(q.Data)]++ // the trailer of another program
		MessageOf(testLink(), []Packet{p}, &got)
		require.Equal(t, plain, got)
	}
}

// lineage is one with all that a lineage can say.
func lineage() *zab.Lineage {
	return &zab.Lineage{Ensemble: 1<<64 - 1, Final: true, Settled: proto.MakeZxid(3, 9), Reigns: []zab.Reign{
		{Epoch: 1, Leader: 2, Mark: 7},
		{Epoch: 2, Leader: -1, Gap: true},
		{Epoch: 3, Leader: 0, Mark: 1 << 63, Base: proto.MakeZxid(1, 0xffffffff)}}}
}

// DIFF and TRUNC bring a checksum, and UPTODATE says that the identity is final, in a trailer that is all of their
// data.
func TestTrailerAlone(t *testing.T) {
	for _, want := range []zab.Message{
		{Type: zab.Diff, Zxid: proto.MakeZxid(1, 2), Summed: true, Sum: 0xfffffffe},
		{Type: zab.Diff, Zxid: proto.MakeZxid(1, 2), Summed: true},
		{Type: zab.Diff, Zxid: proto.MakeZxid(1, 2), Summed: true, Sum: 3, Bare: 4},
		{Type: zab.Diff, Zxid: proto.MakeZxid(1, 2)},
		{Type: zab.Trunc, Zxid: proto.MakeZxid(1, 2), Summed: true, Sum: 1},
		{Type: zab.Trunc, Zxid: proto.MakeZxid(1, 2)},
		{Type: zab.UpToDate, Zxid: -1, Final: true},
		{Type: zab.UpToDate, Zxid: -1},
	} {
		want.From, want.To, want.Link = 7, 2, 5
		p := decodeWhole(t, AppendMessage(nil, &want))
		var got zab.Message
		n, ok := MessageOf(testLink(), []Packet{p}, &got)
		require.True(t, ok)
		require.Equal(t, 1, n)
		require.Equal(t, want, got)
		plain := want
		plain.Summed, plain.Sum, plain.Bare, plain.Final = false, 0, 0, false
		if !want.Summed && !want.Final {
			require.Empty(t, p.Data)
			continue
		}
		for n := range trailerSize { // cut short, it says nothing
			q := p
			q.Data = p.Data[:n]
			MessageOf(testLink(), []Packet{q}, &got)
			require.Equal(t, plain, got)
		}
		p.Data[0]++
		MessageOf(testLink(), []Packet{p}, &got)
		require.Equal(t, plain, got)
	}
}

// The messages that are no packets append nothing.
func TestMessagesThatAreNoPackets(t *testing.T) {
	for _, m := range []zab.Type{zab.Notification, zab.Probe, zab.ProbeReply, zab.Replay, zab.Snap, 0, 200} {
		require.Equal(t, []byte{9}, AppendMessage([]byte{9}, &zab.Message{Type: m}))
	}
}

func TestTxnsAndCommits(t *testing.T) {
	payload := decodeWhole(t, captured(t)["Q24"]).Data
	m := zab.Message{Type: zab.Proposal, Txns: []zab.Txn{{Zxid: proto.MakeZxid(1, 2), Payload: payload}}}
	require.Equal(t, AppendMessage(nil, &m), AppendTxn(nil, proto.MakeZxid(1, 2), payload))
	require.Equal(t, AppendMessage(nil, &zab.Message{Type: zab.Commit, Zxid: 7}), AppendCommit(nil, 7))
}

func TestIdentities(t *testing.T) {
	p := decodeWhole(t, captured(t)["Q23"])
	ids := must.Do(p.Identities())(t)
	require.Len(t, ids, 1)
	require.Equal(t, p.Authinfo, appendIdentities(nil, ids))
	p.Authinfo = nil
	ids = must.Do(p.Identities())(t)
	require.Nil(t, ids)
	p.Authinfo = []byte{0, 0, 0, 9}
	require.ErrorIs(t, must.Err(p.Identities()), ErrPacket)
}

// Packets that break a bound are refused as soon as it is visible, others are waited for.
func TestPacketBounds(t *testing.T) {
	head := func(size int32) []byte { return proto.AppendInt32(appendHead(nil, proto.PacketRequest, -1), size) }
	ids := func(count int32, sizes ...int32) []byte {
		b := proto.AppendInt32(head(-1), count)
		for _, n := range sizes {
			b = append(proto.AppendInt32(b, n), make([]byte, min(max(n, 0), 100))...)
		}
		return b
	}
	for name, v := range map[string]struct {
		bytes []byte
		want  string // part of the error; "" is waiting
	}{
		"largest data":        {head(100 << 14), ""},
		"too much data":       {head(100<<14 + 1), "data of 1638401 bytes"},
		"negative data":       {head(-2), "data of -2 bytes"},
		"huge data":           {head(0x7fffffff), "data of 2147483647 bytes"},
		"too many identities": {ids(identitiesMax + 1), "1025 identities"},
		"negative identities": {ids(-2), "-2 identities"},
		"most identities":     {ids(identitiesMax), ""},
		"a negative scheme":   {ids(1, -2), "identity of -2 bytes"},
		"a huge scheme":       {ids(1, authinfoMax), "identity of 1048576 bytes"},
		"identities in all": {append(ids(2, 100, 100), ids(0, authinfoMax-100)[20:]...),
			"allowed are 1048576 for all"},
		"a scheme still to come": {ids(1, 50)[:30], ""},
	} {
		var p Packet
		n, err := p.decode(v.bytes, 100<<14)
		require.Zero(t, n, name)
		if v.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrPacket, name)
		require.ErrorContains(t, err, v.want, name)
	}
	var p Packet
	require.ErrorContains(t, must.Err(p.decode(ids(1, 97), 100)), "allowed are 100 for all")
}

// Null and empty are different things.
func TestNullAndEmpty(t *testing.T) {
	for _, want := range []Packet{
		{Type: 5}, {Type: 5, Data: []byte{}}, {Type: 1, Data: make([]byte, 16), Authinfo: []byte{0, 0, 0, 0}},
	} {
		b := want.AppendTo(nil)
		var got Packet
		require.Equal(t, len(b), must.Do(got.decode(b, 100))(t))
		require.Equal(t, want, got)
	}
}

// The commit of a reconfiguration, to an observer: the leader by it, and the txn as it was proposed. Source:
// quorum-protocol 16 row 42.
func TestInformAndActivate(t *testing.T) {
	z := proto.MakeZxid(1, 0x12)
	body := &proto.SetDataTxn{Path: proto.Text("/zookeeper/config"), Data: []byte(ensembleText), Version: -1}
	payload := body.AppendTo((&proto.TxnHeader{ClientID: 0x0100001c6e200002, Cxid: 1, Zxid: z, Time: 0x1a1fc9c7aa4,
		Type: proto.OpReconfig}).AppendTo(nil))
	want := zab.Message{Type: zab.InformActive, From: 7, To: 2, Link: 5, Zxid: z, Leader: 2,
		Txns: []zab.Txn{{Zxid: z, Payload: payload}}}
	b := AppendMessage(nil, &want)
	const head = "000000130000000100000012" // and the size, which is that of the text here
	require.Equal(t, head, hex.EncodeToString(b[:12]))
	require.Equal(t,
		"00000000000000020100001c6e200002000000010000000100000012000001a1fc9c7aa400000010000000112f7a6f6f6b65657065722f636f6e666967",
		hex.EncodeToString(b[16:77]))
	var got zab.Message
	n, ok := MessageOf(testLink(), []Packet{decodeWhole(t, b)}, &got)
	require.True(t, ok)
	require.Equal(t, 1, n)
	require.Equal(t, want, got)
}

func TestChecks(t *testing.T) {
	txn := func(z proto.Zxid, before int) []byte {
		return (&proto.TxnHeader{Zxid: z}).AppendTo(make([]byte, before))
	}
	for name, v := range map[string]struct {
		packet Packet
		want   string
	}{
		"a txn": {Packet{Type: proto.PacketProposal, Zxid: 7, Data: txn(7, 0)}, ""},
		"a txn of another zxid": {Packet{Type: proto.PacketProposal, Zxid: 7, Data: txn(8, 0)},
			"PROPOSAL at 0x7 has the txn 0x8"},
		"no txn": {Packet{Type: proto.PacketInform, Zxid: 7, Data: txn(7, 0)[:31]},
			"INFORM at 0x7 has data of 31 bytes"},
		"a reconfig": {Packet{Type: proto.PacketInformAndActivate, Zxid: 7, Data: txn(7, 8)}, ""},
		"another reconfig": {Packet{Type: proto.PacketInformAndActivate, Zxid: 7, Data: txn(8, 8)},
			"has the txn 0x8"},
		"null":              {Packet{Type: proto.PacketLeaderInfo}, "LEADERINFO at 0x0 has data of 0 bytes"},
		"ACKEPOCH":          {Packet{Type: proto.PacketAckEpoch, Data: make([]byte, 3)}, "expected are 4"},
		"HANDOVER":          {Packet{Type: PacketHandOver, Data: make([]byte, 7)}, "expected are 8"},
		"REQUEST":           {Packet{Type: proto.PacketRequest, Data: make([]byte, 15)}, "expected are 16"},
		"REVALIDATE":        {Packet{Type: proto.PacketRevalidate, Data: make([]byte, 8)}, "expected are 9"},
		"COMMITANDACTIVATE": {Packet{Type: proto.PacketCommitAndActivate, Data: make([]byte, 7)}, "expected are 8"},
		"no sessions":       {Packet{Type: proto.PacketPing, Data: []byte{}}, ""},
		"two sessions":      {Packet{Type: proto.PacketPing, Data: make([]byte, 24)}, ""},
		"half a session":    {Packet{Type: proto.PacketPing, Data: make([]byte, 18)}, "PING has data of 18 bytes"},
		"something unknown": {Packet{Type: 99}, ""},
	} {
		err := v.packet.check()
		if v.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrPacket, name)
		require.ErrorContains(t, err, v.want, name)
	}
}

// Any bytes: no panic; what is a packet encodes to what it was, and makes a message that encodes to a packet again.
func FuzzPacket(f *testing.F) {
	for _, b := range captured(f) {
		f.Add(b)
	}
	f.Add(AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, Warren: true, Blank: true}))
	f.Add(AppendMessage(nil, &zab.Message{Type: zab.HandOver, Leader: 1}))
	f.Add(AppendMessage(nil, &zab.Message{Type: zab.NewLeader, Config: []byte("a"), Active: []byte("b")}))
	f.Add(AppendMessage(nil,
		&zab.Message{Type: zab.InformActive, Txns: []zab.Txn{{Payload: make([]byte, proto.TxnHeaderSize)}}}))
	link := testLink()
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Packet
		n, err := p.decode(b, 1000)
		if n == 0 || err != nil {
			return
		}
		require.Equal(t, b[:n], p.AppendTo(nil))
		_, _ = p.Identities()
		if p.check() != nil {
			return
		}
		var m, back zab.Message
		if _, ok := MessageOf(link, []Packet{p}, &m); !ok || m.Type == zab.Snap {
			return
		}
		q := decodeWhole(t, AppendMessage(nil, &m))
		_, ok := MessageOf(link, []Packet{q}, &back)
		require.True(t, ok)
		require.Equal(t, m, back)
	})
}
