package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// The server itself makes the txn that closes a session. Its list of ephemerals may be longer than any frame, and a
// restart can read it.
func TestClosingASessionWith100000Ephemerals(t *testing.T) {
	const ephemerals, burst = 100_000, 1000
	cfg := testConfig(t)
	addr, stop := start(t, cfg, server.Options{})
	owner := dial(t, addr, wire.Options{TimeoutMs: 60_000, Reply: 10 * hangGuard})
	for i := 0; i < ephemerals; i += burst {
		var reqs []wire.Request
		for k := range burst {
			reqs = append(reqs, wire.Create(fmt.Sprintf("/ephemeral-with-a-long-name-%08d", i+k), nil, wire.OpenACL,
				proto.ModeEphemeral))
		}
		for _, call := range owner.SendAll(reqs) {
			require.NoError(t, call.Wait())
			require.NoError(t, call.Reply.Err())
		}
	}
	other := dial(t, addr, wire.Options{TimeoutMs: 60_000, Reply: 10 * hangGuard})
	require.EqualValues(t, ephemerals+3, must.Do(other.AllChildrenNumber("/"))(t))
	require.NoError(t, owner.CloseSession())
	require.EqualValues(t, 3, must.Do(other.AllChildrenNumber("/"))(t))
	other.Close()
	stop()

	addr, _ = start(t, cfg, server.Options{})
	c := dial(t, addr, wire.Options{})
	require.EqualValues(t, 3, must.Do(c.AllChildrenNumber("/"))(t))
	require.Eventually(t, func() bool {
		_, err := wire.Dial(addr, wire.Options{Session: owner.Session(), Password: owner.Password()})
		return errors.Is(err, wire.ErrRejected)
	}, hangGuard, 10*time.Millisecond)
}
