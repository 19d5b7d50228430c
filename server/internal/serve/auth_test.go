package serve

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// slowExchange is a step of SASL that waits, as one that reads a keytab.
type slowExchange struct{ begun, over chan struct{} }

func (e *slowExchange) Step([]byte) ([]byte, error) {
	close(e.begun)
	<-e.over
	return nil, nil
}

func (*slowExchange) Done() bool { return false }

func (*slowExchange) User() string { return "" }

// A SASL exchange with a client does not block the applier, or anything else that has an event or a reply for that
// client. The exchange starts only after the client's earlier writes have been submitted.
func TestNobodyWaitsForAnExchange(t *testing.T) {
	s := newFront()
	h := &countingHost{}
	s.host = h
	e := &slowExchange{begun: make(chan struct{}), over: make(chan struct{})}
	s.sasl = &sasl.Acceptor{Begin: func(func(string) bool) sasl.Exchange { return e }}
	_, nc := wire.Pair(t)
	c := newConn(s, nc)
	c.Session.Store(&sessions.Session{ID: 1})
	r := newReader(c)
	token := proto.AppendBuffer(nil, []byte("token"))
	write := wire.Delete("/a", -1)
	require.True(t, must.Do(r.handle(&request{write.Op, 1, write.Body}))(t))
	require.False(t, must.Do(r.handle(&request{proto.OpSasl, 2, token}))(t))
	r.submit()
	r.unlock()
	require.Equal(t, 1, h.taken)
	c.mu.Lock()
	c.mu.queue.pop()
	c.mu.Unlock()

	answered := make(chan struct{})
	go func() {
		_, _ = r.handle(&request{proto.OpSasl, 2, token})
		r.unlock()
		r.passTurn()
		close(answered)
	}()
	<-e.begun
	require.Eventually(t, c.mu.TryLock, time.Minute, time.Millisecond)
	c.mu.Unlock()
	close(e.over)
	<-answered
	require.Equal(t, uint32(2), binary.BigEndian.Uint32(c.mu.out.buf[4:]))
}
