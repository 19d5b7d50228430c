package sasl

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/test/must"
)

// vectorRspauth is the proof of a server in some exchange.
const vectorRspauth = "da86919f214d86dd35224ea179331f9f"

var bob = Users{"bob": "bobsecret", "jürgen": "pässword", "日本": "秘密", "": "empty"}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// meet runs both sides over a pipe.
func meet(
	t *testing.T, a *QuorumAcceptor, connect func(net.Conn) error,
) (adm Admission, fromAcceptor, fromInitiator error) {
	t.Helper()
	left, right := net.Pipe()
	deadline := time.Now().Add(time.Minute)
	require.NoError(t, left.SetDeadline(deadline))
	require.NoError(t, right.SetDeadline(deadline))
	done := make(chan error, 1)
	go func() {
		err := connect(right)
		if err != nil {
			_ = right.Close()
		}
		done <- err
	}()
	adm, fromAcceptor = a.Accept(left)
	if fromAcceptor != nil {
		_ = left.Close()
	}
	fromInitiator = <-done
	t.Cleanup(func() { _ = left.Close(); _ = right.Close() })
	return adm, fromAcceptor, fromInitiator
}

// byPassword takes the users of bob.
var byPassword = NewDigest(digestmd5.QuorumRealm, bob)

func initiator(user, password string) func(net.Conn) error {
	return func(c net.Conn) error {
		return NewDigestInitiator(user, password).Connect(context.Background(), c, "")
	}
}

func TestQuorumExchange(t *testing.T) {
	for _, required := range []bool{true, false} {
		adm, fromAcceptor, fromInitiator := meet(t, &QuorumAcceptor{byPassword, required},
			initiator("bob", "bobsecret"))
		require.NoError(t, fromAcceptor)
		require.NoError(t, fromInitiator)
		require.Equal(t, "bob", adm.User)
		require.NoError(t, adm.Failure)
	}
}

func TestQuorumWrongPassword(t *testing.T) {
	_, fromAcceptor, fromInitiator := meet(t, &QuorumAcceptor{byPassword, true}, initiator("bob", "wrong"))
	require.ErrorIs(t, fromAcceptor, ErrAuth)
	require.ErrorIs(t, fromInitiator, ErrAuth)

	adm, fromAcceptor, fromInitiator := meet(t, &QuorumAcceptor{byPassword, false}, initiator("bob", "wrong"))
	require.NoError(t, fromAcceptor)
	require.ErrorIs(t, adm.Failure, ErrAuth)
	require.Empty(t, adm.User)
	require.ErrorIs(t, fromInitiator, ErrAuth)
}

// A peer that does not authenticate loses no byte.
func TestQuorumWithoutAuthentication(t *testing.T) {
	said := []byte("\x00\x00\x00\x0bhello, this is no magic")
	silent := func(c net.Conn) error {
		_, err := c.Write(said)
		return err
	}
	_, fromAcceptor, _ := meet(t, &QuorumAcceptor{byPassword, true}, silent)
	require.ErrorIs(t, fromAcceptor, errSilent)

	left, right := net.Pipe()
	defer left.Close()
	go func() {
		_ = silent(right)
		_ = right.Close()
	}()
	adm := must.Do((&QuorumAcceptor{byPassword, false}).Accept(left))(t)
	require.Equal(t, said, must.ReadAll(t, adm.Conn))
	require.Empty(t, adm.User)
}

// The packets as ZooKeeper 3.8 sends them.
func TestGoldenQuorumPackets(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, writePacket(&b, statusProgress, nil))
	require.Equal(t, "5f2435013501edcc0000000000000000", hex.EncodeToString(b.Bytes()))
	b.Reset()
	require.NoError(t, writePacket(&b, statusSuccess, []byte("rspauth="+vectorRspauth)))
	require.Equal(t, "5f2435013501edcc000000010000002872737061757468"+"3d", hex.EncodeToString(b.Bytes()[:24]))
	status, token := must.Do2(readPacket(&b, digestmd5.TokenMax))(t)
	require.Equal(t, statusSuccess, status)
	require.Equal(t, "rspauth="+vectorRspauth, string(token))
	require.NoError(t, writePacket(&b, statusError, nil))
	require.Equal(t, "5f2435013501edccffffffff00000000", hex.EncodeToString(b.Bytes()))
}

func TestQuorumHostilePeers(t *testing.T) {
	packet := func(status quorumStatus, token string) []byte {
		var b bytes.Buffer
		_ = writePacket(&b, status, []byte(token))
		return b.Bytes()
	}
	huge, _ := hex.DecodeString("5f2435013501edcc000000007fffffff")
	null, _ := hex.DecodeString("5f2435013501edcc00000000ffffffff")
	for name, sent := range map[string][]byte{
		"huge token":  huge,
		"null token":  null,
		"cut off":     packet(0, "")[:12],
		"nothing":     nil,
		"no magic":    append(packet(0, ""), []byte("0123456789abcdef")...),
		"wrong token": append(packet(0, ""), packet(0, "x")...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err, _ := meet(t, &QuorumAcceptor{byPassword, true}, func(c net.Conn) error {
				go func() { _, _ = io.Copy(io.Discard, c) }()
				_, _ = c.Write(sent)
				return io.EOF
			})
			require.Error(t, err)
		})
	}
	for name, sent := range map[string][]byte{
		"success at once":     packet(statusSuccess, ""),
		"success for nothing": packet(statusSuccess, `nonce="n",algorithm=md5-sess`),
		"challenges forever":  bytes.Repeat(packet(0, `nonce="n",algorithm=md5-sess`), 20),
		"refusal":             packet(statusError, ""),
		"proof without secret": append(packet(0, `nonce="n",algorithm=md5-sess`),
			packet(statusSuccess, "rspauth="+vectorRspauth)...),
	} {
		t.Run(name, func(t *testing.T) {
			left, right := net.Pipe()
			defer left.Close()
			defer right.Close()
			go func() { _, _ = io.Copy(io.Discard, right) }()
			go func() {
				_, _ = right.Write(sent)
				_ = right.Close()
			}()
			require.Error(t, initiator("bob", "bobsecret")(left))
		})
	}
}

func FuzzPacket(f *testing.F) {
	f.Add([]byte("\x5f\x24\x35\x01\x35\x01\xed\xcc\x00\x00\x00\x00\x00\x00\x00\x02hi"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		status, token, err := readPacket(bytes.NewReader(sent), digestmd5.TokenMax)
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, writePacket(&b, status, token))
		require.Equal(t, sent[:b.Len()], b.Bytes())
	})
}

// A peer that hangs up instead, as one on the election port does that asks to be called back, is let in if it
// need not authenticate; one that says nothing is not.
func TestQuorumPeerHangsUp(t *testing.T) {
	for _, required := range []bool{true, false} {
		left, right := net.Pipe()
		require.NoError(t, right.Close())
		adm, err := (&QuorumAcceptor{byPassword, required}).Accept(left)
		if required {
			require.ErrorIs(t, err, io.EOF)
		} else {
			require.NoError(t, err)
			require.Equal(t, left, adm.Conn)
		}
		left, right = net.Pipe()
		require.NoError(t, left.SetDeadline(time.Now().Add(time.Millisecond)))
		require.ErrorIs(t, must.Err((&QuorumAcceptor{byPassword, required}).Accept(left)), os.ErrDeadlineExceeded)
		require.NoError(t, right.Close())
	}
}
