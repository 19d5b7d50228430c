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
	m := &Host{setup: setup{Env: &env.Env{}}, links: newLinks()}
	m.states = newArrivals()
	m.states.put(5, &durable.Loading{})
	m.states.put(6, &durable.Loading{})
	m.journal = &durable.Journal{Jobs: flow.NewInbox[durable.JournalJob](sched.OS().Parker())}
	m.forget(5)
	m.forget(6)
	m.toJournal([]zab.Persist{{Install: &zab.Install{Link: 5}}})
	m.states.drop(m.links.takeClosed())
	require.NotNil(t, m.states.on(5))
	require.Len(t, m.states.wanted, 1)
	require.Empty(t, m.states.byLink, "what nobody wants is freed")
}
