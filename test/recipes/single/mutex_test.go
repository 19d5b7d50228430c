package single_test

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/relay"
)

// contend lets sessions compete for a lock that limit of them may hold at once, over links that disturb may cut while
// they hold it. Tokens of a lock for one grow from grant to grant. It returns how many have held the lock at once.
func contend(t *testing.T, sessions, rounds, limit int,
	lock func(*client.Client) func(context.Context) (*recipes.Hold, error),
	disturb func(k *relay.Relay, i, round int, h *recipes.Hold)) int32 {
	t.Helper()
	var inside, most atomic.Int32
	var last atomic.Int64
	var all sync.WaitGroup
	for i := range sessions {
		k := newLink(t)
		take := lock(dialAt(t, k.Addr()))
		all.Go(func() {
			for round := range rounds {
				h, err := take(within(t))
				if !assert.NoError(t, err, "lock") {
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				assert.LessOrEqual(t, n, int32(limit), "holders")
				if before := last.Swap(int64(h.Token())); limit == 1 && before >= int64(h.Token()) {
					t.Errorf("token %v after %#x", h.Token(), before)
				}
				disturb(k, i, round, h)
				inside.Add(-1)
				assert.NoError(t, h.Release(within(t)), "release")
			}
		})
	}
	all.Wait()
	return most.Load()
}

// cutOnce cuts the link of each session in another round.
func cutOnce(k *relay.Relay, i, round int, _ *recipes.Hold) {
	if round == i {
		k.Shut()
		k.Open()
	}
}

// Sessions compete while their links are cut now and then. Never are two holds alive at once, and tokens grow from
// grant to grant.
func TestMutexExcludesAndTokensGrow(t *testing.T) {
	root := rootOf(t)
	contend(t, 6, 10, 1, func(c *client.Client) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewMutex(c, root).Lock
	}, cutOnce)
	require.Empty(t, names(t, dial(t), root))
}

func TestMutexLayoutIsCurators(t *testing.T) {
	root, c := rootOf(t), dial(t)
	given, acl := []byte("10.0.0.1"), client.OpenACL()
	m := recipes.NewMutex(c, root, recipes.WithData(given), recipes.WithACL(acl...))
	given[0], acl[0].Perms = '2', 0 // the caller may use them for something else
	h := do(t, m.Lock)
	require.Regexp(t, regexp.MustCompile(`^`+root+`/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$`),
		h.Path())
	data, stat := must.Do2(c.Get(within(t), h.Path()))(t)
	require.Equal(t, "10.0.0.1", string(data))
	require.Equal(t, h.Token(), stat.Czxid)
	session, _ := c.Session()
	require.EqualValues(t, session, stat.EphemeralOwner)

	// A znode of Curator's, before or after ours, counts as well.
	theirs := must.Do(c.Create(within(t), root+"/_c_00000000-0000-0000-0000-000000000000-lock-", nil,
		client.EphemeralSequential))(t)
	require.NoError(t, h.Release(within(t)))
	require.ErrorIs(t, must.Err(m.TryLock(within(t))), recipes.ErrBusy)
	require.NoError(t, c.Delete(within(t), theirs, -1))
	h = do(t, m.TryLock)
	require.NoError(t, h.Release(within(t)))
	require.NoError(t, h.Release(within(t)), "again")
}

func TestMutexGivesUpWithItsContext(t *testing.T) {
	root, c := rootOf(t), dial(t)
	m := recipes.NewMutex(c, root)
	h := do(t, m.Lock)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- must.Err(m.Lock(ctx)) }()
	awaitChildren(t, c, root, 2)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	awaitChildren(t, c, root, 1)
	require.NoError(t, h.Context().Err(), "the hold does not mind")
	require.NoError(t, h.Release(within(t)))
}

func TestHoldOutlivesTheContextOfLock(t *testing.T) {
	m := recipes.NewMutex(dial(t), rootOf(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h := must.Do(m.Lock(ctx))(t)
	cancel()
	require.NoError(t, h.Context().Err())
	require.NoError(t, h.Release(within(t)))
}

func TestHoldEndsWithTheConnection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []recipes.Option
		ends    bool
	}{{"strict", nil, true}, {"until expiry", []recipes.Option{recipes.UntilExpiry()}, false}} {
		t.Run(tt.name, func(t *testing.T) {
			k := newLink(t)
			c := dialAt(t, k.Addr())
			h := do(t, recipes.NewMutex(c, rootOf(t), tt.options...).Lock)
			k.Shut()
			for st := range c.States(within(t)) {
				if st.State == client.Disconnected {
					break
				}
			}
			if tt.ends {
				done(t, h.Context().Done(), "the end of the hold")
				require.ErrorIs(t, context.Cause(h.Context()), client.ErrConnectionLoss)
				require.NotContains(t, context.Cause(h.Context()).Error(), "applied", "nothing was asked for")
			}
			k.Open()
			require.NoError(t, c.WaitConnected(within(t)))
			_, err := recipes.NewMutex(dial(t), rootOf(t)).TryLock(within(t))
			require.ErrorIs(t, err, recipes.ErrBusy, "the znode is still there")
			require.Equal(t, tt.ends, h.Context().Err() != nil)
			require.NoError(t, h.Release(within(t)))
		})
	}
}

// A holder that is cut off knows it before another client is let in.
func TestHoldEndsBeforeTheNextIsGranted(t *testing.T) {
	k := newLink(t)
	c := dialAt(t, k.Addr(), client.WithSessionTimeout(time.Second))
	root := rootOf(t)
	h := do(t, recipes.NewMutex(c, root, recipes.UntilExpiry()).Lock)
	k.Shut()
	next := do(t, recipes.NewMutex(dial(t), root).Lock)
	require.ErrorIs(t, context.Cause(h.Context()), client.ErrSessionExpired)
	require.Greater(t, next.Token(), h.Token())
	k.Open()
	require.NoError(t, h.Release(within(t)), "gone already")
	require.NoError(t, next.Context().Err())
	require.NoError(t, next.Release(within(t)))
}

func TestHoldAndWaiterLearnOfExpiry(t *testing.T) {
	root := rootOf(t)
	c, end := expire(t)
	h := do(t, recipes.NewMutex(c, root).Lock)
	failed := make(chan error, 1)
	go func() { failed <- must.Err(recipes.NewMutex(c, root).Lock(within(t))) }()
	awaitChildren(t, c, root, 2)
	end()
	done(t, h.Context().Done(), "the end of the hold")
	err := <-failed
	require.True(t, errors.Is(err, client.ErrSessionExpired) || errors.Is(err, recipes.ErrLost), "%v", err)
	require.NoError(t, h.Release(within(t)))
}

func TestHoldEndsWhenItsZnodeIsDeleted(t *testing.T) {
	m := recipes.NewMutex(dial(t), rootOf(t))
	h := do(t, m.Lock)
	require.NoError(t, dial(t).Delete(within(t), h.Path(), -1))
	done(t, h.Context().Done(), "the end of the hold")
	require.ErrorIs(t, context.Cause(h.Context()), recipes.ErrLost)
	require.NoError(t, h.Release(within(t)))
}

func TestRevoke(t *testing.T) {
	other, m := dial(t), recipes.NewMutex(dial(t), rootOf(t))
	h := do(t, m.Lock)
	must.Do(other.Set(within(t), h.Path(), []byte("something else"), -1))(t)
	contenders := do(t, recipes.NewMutex(other, rootOf(t)).Contenders)
	require.Equal(t, []recipes.Contender{{Path: h.Path(), Data: []byte("something else"), Token: h.Token()}},
		contenders)
	select {
	case <-h.Revoked():
		require.Fail(t, "nobody asked")
	default:
	}
	require.NoError(t, recipes.Revoke(within(t), other, h.Path()))
	done(t, h.Revoked(), "the request to release")
	require.NoError(t, h.Context().Err(), "a request, no more")
	require.NoError(t, h.Release(within(t)))
	require.ErrorIs(t, recipes.Revoke(within(t), other, h.Path()), client.ErrNoNode)
}

// The create is done, its answer is lost: no second znode is made that would block every client.
func TestMutexFindsItsZnodeWhenTheAnswerIsLost(t *testing.T) {
	k, root := newLink(t), rootOf(t)
	c := dialAt(t, k.Addr())
	require.NoError(t, dial(t).CreateAll(within(t), root))
	k.LoseAnswer(1)
	h := do(t, recipes.NewMutex(c, root).Lock)
	require.Len(t, names(t, c, root), 1)
	require.NoError(t, h.Release(within(t)))
	require.Empty(t, names(t, c, root))
}
