package single_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// A client gives up while the outcome of a claim is unknown, and is cut off for longer than the call takes to undo
// it. The znode goes all the same, as soon as that is possible, although the session goes on.
func TestClaimOfUnknownOutcomeIsTakenBack(t *testing.T) {
	path, observer, k := rootOf(t), dial(t), newLink(t)
	require.NoError(t, recipes.NewBarrier(observer, path+"/other").Set(within(t))) // the parent is there
	c := dialAt(t, k.Addr())
	k.Refuse()
	k.LoseAnswer(1)
	ctx, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
	defer cancel()
	require.Error(t, must.Err(recipes.NewRendezvous(c, path+"/claim").Announce(ctx, nil)))
	_, exists, err := observer.Exists(within(t), path+"/claim")
	require.NoError(t, err)
	require.True(t, exists, "the create has happened")
	k.Open()
	require.Eventually(t, func() bool {
		_, exists, err := observer.Exists(within(t), path+"/claim")
		return err == nil && !exists
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, client.Connected, c.State().State)
}
