package single_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// The sum is exact up to the changes whose outcome is unknown, and with calm connections exactly.
func TestNumberAddsUp(t *testing.T) {
	for _, isCalm := range []bool{true, false} {
		t.Run(fmt.Sprint("calm=", isCalm), func(t *testing.T) {
			root := rootOf(t)
			var sure, unsure atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				k := newLink(t)
				n := recipes.NewAtomicLong(dialAt(t, k.Addr()), root)
				all.Go(func() {
					for round := range 20 {
						if !isCalm && round%5 == 2 {
							k.LoseAnswer(2) // the first is that of the read
						}
						switch _, err := n.Add(within(t), 3); {
						case err == nil:
							sure.Add(3)
						case client.MayHaveApplied(err):
							unsure.Add(3)
						default:
							t.Errorf("add: %v", err)
						}
					}
				})
			}
			all.Wait()
			got := do(t, recipes.NewAtomicLong(dial(t), root).Get)
			t.Logf("%d sure, %d unsure, %d", sure.Load(), unsure.Load(), got)
			require.Equal(t, isCalm, unsure.Load() == 0)
			require.GreaterOrEqual(t, got, sure.Load())
			require.LessOrEqual(t, got, sure.Load()+unsure.Load())
			if isCalm {
				require.EqualValues(t, 240, got)
			}
		})
	}
}

func TestNumberLayoutsAreCurators(t *testing.T) {
	root, c := rootOf(t), dial(t)
	short, long := recipes.NewCounter(c, root+"/short"), recipes.NewAtomicLong(c, root+"/long")
	require.Zero(t, do(t, short.Get))
	require.NoError(t, short.Set(within(t), -2))
	require.NoError(t, long.Set(within(t), 0x0102030405060708))
	data, _ := must.Do2(c.Get(within(t), root+"/short"))(t)
	require.Equal(t, "\xff\xff\xff\xfe", string(data))
	data, _ = must.Do2(c.Get(within(t), root+"/long"))(t)
	require.Equal(t, "\x01\x02\x03\x04\x05\x06\x07\x08", string(data))
	require.ErrorIs(t, must.Err(recipes.NewAtomicLong(c, root+"/short").Get(within(t))), recipes.ErrFormat)
	require.ErrorIs(t, must.Err(recipes.NewCounter(c, root+"/long").Add(within(t), 1)), recipes.ErrFormat)
}

func TestNumberRefusesOverflow(t *testing.T) {
	n := recipes.NewCounter(dial(t), rootOf(t))
	for _, tt := range []struct{ value, delta int32 }{
		{math.MaxInt32, 1}, {math.MinInt32, -1}, {1, math.MaxInt32}, {-1, math.MinInt32},
		{math.MinInt32, math.MinInt32},
	} {
		require.NoError(t, n.Set(within(t), tt.value))
		require.ErrorIs(t, must.Err(n.Add(within(t), tt.delta)), recipes.ErrOverflow, "%v", tt)
		got := do(t, n.Get)
		require.Equal(t, tt.value, got)
	}
	for _, tt := range []struct{ value, delta, sum int32 }{
		{math.MaxInt32, 0, math.MaxInt32}, {math.MaxInt32, math.MinInt32, -1}, {-1, 1, 0},
		{math.MinInt32, math.MaxInt32, -1},
	} {
		require.NoError(t, n.Set(within(t), tt.value))
		require.Equal(t, tt.sum, must.Do(n.Add(within(t), tt.delta))(t))
	}
}

func TestNumberFollow(t *testing.T) {
	c := dial(t)
	n := recipes.NewCounter(c, rootOf(t))
	want := int32(0)
	for value, err := range n.Follow(within(t)) {
		require.NoError(t, err)
		require.Equal(t, want, value)
		if want++; want == 5 {
			break
		}
		require.NoError(t, n.Set(within(t), want))
	}
	require.EqualValues(t, 5, want)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, must.Err(n.Add(ctx, 1)), context.Canceled)
}
