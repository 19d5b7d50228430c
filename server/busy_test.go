package server_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/wire"
)

// Servers with turns longer than a tick of the core still keep the time: PINGs are sent in time, and no client is
// closed because no server has confirmed its session.
func TestBusyServersKeepTime(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3})
	require.NoError(t, e.WaitServing(within(t), e.IDs()...))
	var conns []*wire.Conn
	for _, id := range e.IDs() {
		conns = append(conns, connect(t, e, id, wire.Options{}))
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for _, id := range e.IDs() {
		s := e.Server(id)
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Occupy(40 * time.Millisecond)
				}
			}
		})
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for _, c := range conns {
			require.NoError(t, c.Ping())
		}
	}
	close(stop)
	busy.Wait()
}
