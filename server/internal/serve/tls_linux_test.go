package serve

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// To read TLS may mean to write, such as an alert about a record that is wrong. While the client takes nothing of what
// it is sent, that waits, and other busy connections have their turns.
func TestNobodyWaitsForAnAlertInATurn(t *testing.T) {
	s := newTLSFront()
	client, nc := wire.Pair(t)
	r := newReader(newConn(s, nc))
	require.True(t, r.c.guard(SpeaksTLS))
	go func() { _ = trusting(client).Handshake() }()
	require.NoError(t, greeting{&r.feed}.negotiate())

	r.c.mu.out.buf = make([]byte, 16<<20)
	r.c.flush()
	require.Eventually(t, func() bool {
		look := []unix.PollFd{{Events: unix.POLLOUT}}
		require.NoError(t, r.c.raw.Control(func(fd uintptr) { look[0].Fd = int32(fd); _, _ = unix.Poll(look, 0) }))
		return look[0].Revents == 0 && r.c.secure.below.writers.Load() == 1
	}, time.Minute, time.Millisecond, "the socket takes no more")
	// A large frame that has arrived in part: the rest is read in a turn.
	r.in.buf, r.in.w = make([]byte, 2*inputBuffer), inputBuffer
	binary.BigEndian.PutUint32(r.in.buf, 1<<19)
	binary.BigEndian.PutUint32(r.in.buf[8:], uint32(proto.OpSetData))
	r.pace.busy = true
	wrong := append([]byte{23, 3, 3, 0, 64}, make([]byte, 64)...)
	must.Do(client.Write(wrong))(t)
	unread := func() (n int) {
		_ = r.c.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		return n
	}
	require.Eventually(t, func() bool { return unread() == len(wrong) }, time.Minute, time.Millisecond)
	ended := make(chan struct{})
	go func() {
		r.requests()
		close(ended)
	}()
	require.Eventually(t, func() bool { return unread() == 0 }, time.Minute, time.Millisecond)
	require.Empty(t, s.turns)
	r.c.Abort()
	<-ended
	r.cleanup()
}
