package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/zab"
)

// The connection that has brought a snapshot may close before the snapshot is installed, and before the core has
// asked for the installation.
func TestReceivedStateOutlivesItsLink(t *testing.T) {
	m := &Host{Env: &env.Env{}, links: map[zab.LinkID]*link{}}
	m.received.byLink, m.received.wanted = map[zab.LinkID]*durable.Loading{5: {},
		6: {}}, map[zab.LinkID]*durable.Loading{}
	m.journal = &durable.Journal{Jobs: flow.NewInbox[durable.JournalJob](sched.OS().Parker())}
	m.forget(5)
	m.forget(6)
	m.toJournal([]zab.Persist{{Install: &zab.Install{Link: 5}}})
	m.dropOrphans()
	require.NotNil(t, m.received.wanted[5])
	require.Len(t, m.received.wanted, 1)
	require.Empty(t, m.received.byLink, "what nobody wants is freed")
}
