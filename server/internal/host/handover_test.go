package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/host/syncs"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// A server that is told to stop while it prepares a handover stops, and one that prepares to stop hands over to no
// server that an operator names then: it would go on to lead if that fails, and to follow otherwise.
func TestAStopIsNotReplacedByAHandover(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	m.peers = &peers.Peers{}
	l := &leading{Env: m.Env, h: m}
	l.syncs = syncs.New(l.needs())
	m.role = l
	var done []string
	do := func(what string) func() error {
		return func() error {
			done = append(done, what)
			return nil
		}
	}
	require.NoError(t, m.afterHold(false, do("to 2")))
	require.NoError(t, m.afterHold(true, do("stop")))
	require.ErrorIs(t, m.afterHold(false, do("to 3")), zab.ErrNotLeading)
	require.Empty(t, done, "no learner has held its requests yet")
	l.maybeHand()
	require.Equal(t, []string{"stop"}, done)
}
