package single_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

func numberConfig(c *client.Client, path string) *recipes.Config[int] {
	return recipes.NewConfig(c, path, func(data []byte) (int, error) { return strconv.Atoi(string(data)) })
}

// awaitConfig waits until a copy shows a value.
func awaitConfig(t *testing.T, l *recipes.LiveConfig[int], want int) recipes.Revision[int] {
	t.Helper()
	for {
		now, changed := l.Current()
		if now.Value == want {
			return now
		}
		done(t, changed, fmt.Sprint("configuration ", want))
	}
}

// requireAccepted asserts that the newest data is used.
func requireAccepted(t *testing.T, l *recipes.LiveConfig[int]) {
	t.Helper()
	must.Do(l.Refused())(t)
}

// The link is cut at every publication: the copy arrives at the latest, and never goes back.
func TestConfigArrivesAtTheLatest(t *testing.T) {
	root, k := rootOf(t), newLink(t)
	publisher := numberConfig(dial(t), root)
	require.NoError(t, publisher.Publish(within(t), []byte("0")))
	l := do(t, numberConfig(dialAt(t, k.Addr()), root).Open)
	defer l.Close()
	var last client.Zxid
	for i := range 6 {
		k.Shut()
		for j := range 3 {
			require.NoError(t, publisher.Publish(within(t), fmt.Append(nil, 10*i+j)))
		}
		k.Open()
		now := awaitConfig(t, l, 10*i+2)
		require.Greater(t, now.Zxid, last)
		last = now.Zxid
	}
	require.NoError(t, l.Err())
}

func TestConfigIsKeptUntilAValidOneComes(t *testing.T) {
	root, c := rootOf(t), dial(t)
	g := numberConfig(c, root)
	require.ErrorIs(t, must.Err(g.Read(within(t))), client.ErrNoNode)
	require.ErrorIs(t, g.Publish(within(t), []byte("x")), recipes.ErrInvalid)
	require.NoError(t, g.Publish(within(t), []byte("1")))
	l := do(t, g.Open)
	defer l.Close()
	requireAccepted(t, l)

	_, err := c.Set(within(t), root, []byte("broken"), -1) // by a client that does not know the format
	require.NoError(t, err)
	require.ErrorIs(t, must.Err(g.Read(within(t))), recipes.ErrInvalid)
	require.NoError(t, c.Delete(within(t), root, -1))
	require.NoError(t, g.Publish(within(t), []byte("2")))
	awaitConfig(t, l, 2)
	requireAccepted(t, l)
	must.Do(c.Set(within(t), root, []byte("broken"), -1))(t)
	fresh := numberConfig(dial(t), root)
	ctx, cancel := context.WithCancel(within(t))
	refused := make(chan error)
	go func() { refused <- must.Err(fresh.Open(ctx)) }()
	_, changed := l.Current()
	require.NoError(t, c.Sync(within(t), root))
	now, _ := l.Current()
	require.Equal(t, 2, now.Value, "the last valid one holds")
	cancel()
	require.ErrorIs(t, <-refused, context.Canceled)
	require.NoError(t, g.Publish(within(t), []byte("3")))
	done(t, changed, "a valid configuration")
	awaitConfig(t, l, 3)
}

func TestConfigSurvivesExpiryWithRenewalOnly(t *testing.T) {
	root := rootOf(t)
	publisher := numberConfig(dial(t), root)
	require.NoError(t, publisher.Publish(within(t), []byte("1")))
	c, end := expire(t, client.WithRenewal(nil))
	l := do(t, numberConfig(c, root).Open)
	end()
	require.NoError(t, publisher.Publish(within(t), []byte("2")))
	awaitConfig(t, l, 2)
	l.Close()
	require.NoError(t, l.Err())

	c, end = expire(t)
	l = do(t, numberConfig(c, root).Open)
	end()
	done(t, l.Done(), "the end of the copy")
	require.ErrorIs(t, l.Err(), client.ErrSessionExpired)
	now, _ := l.Current()
	require.Equal(t, 2, now.Value)
	l.Close()
	require.ErrorIs(t, must.Err(numberConfig(c, root).Open(within(t))), client.ErrSessionExpired)
}

// A program that follows a configuration is told when data is refused, and when it is not any more.
func TestRefusalIsTold(t *testing.T) {
	root, c := rootOf(t), dial(t)
	g := numberConfig(c, root)
	require.NoError(t, g.Publish(within(t), []byte("1")))
	l := do(t, g.Open)
	defer l.Close()
	changed, err := l.Refused()
	require.NoError(t, err)
	for _, broken := range []string{"broken", "broken otherwise"} {
		must.Do(c.Set(within(t), root, []byte(broken), client.AnyVersion))(t)
		done(t, changed, "the refusal of "+broken)
		changed, err = l.Refused()
		require.ErrorIs(t, err, recipes.ErrInvalid)
		require.ErrorContains(t, err, strconv.Quote(broken))
	}
	require.NoError(t, g.Publish(within(t), []byte("1")))
	done(t, changed, "the end of the refusal")
	must.Do(l.Refused())(t)
}

// Open of a configuration that does not exist says so when its context ends.
func TestOpenSaysWhatItWaitedFor(t *testing.T) {
	g := numberConfig(dial(t), rootOf(t))
	ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	_, err := g.Open(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, client.ErrNoNode)
}
