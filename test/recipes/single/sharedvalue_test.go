package single_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// Each appends a letter of its own; none that was acknowledged is lost, and unknown ones are there once or not at
// all.
func TestSharedValueLosesNoUpdate(t *testing.T) {
	root := rootOf(t)
	var mu sync.Mutex
	sure, unsure := map[byte]int{}, map[byte]int{}
	var all sync.WaitGroup
	for i := range 4 {
		k := newLink(t)
		v := recipes.NewSharedValue(dialAt(t, k.Addr()), root)
		letter := byte('a' + i)
		all.Go(func() {
			for round := range 15 {
				if round%5 == 2 {
					k.LoseAnswer(2) // the first is that of the read
				}
				_, err := v.Update(within(t), func(old recipes.Value) ([]byte, error) {
					return append(old.Data[:len(old.Data):len(old.Data)], letter), nil
				})
				mu.Lock()
				switch {
				case err == nil:
					sure[letter]++
				case client.MayHaveApplied(err):
					unsure[letter]++
				default:
					t.Errorf("update: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	got := do(t, recipes.NewSharedValue(dial(t), root).Get)
	count := map[byte]int{}
	for _, letter := range got.Data {
		count[letter]++
	}
	require.NotEmpty(t, unsure)
	for letter := range sure {
		require.GreaterOrEqual(t, count[letter], sure[letter])
		require.LessOrEqual(t, count[letter], sure[letter]+unsure[letter])
	}
	require.EqualValues(t, len(got.Data)-1, got.Version)
}

func TestSharedValue(t *testing.T) {
	root, c := rootOf(t), dial(t)
	v := recipes.NewSharedValue(c, root)
	none := do(t, v.Get)
	require.Equal(t, recipes.Value{}, none)
	first, isSet := must.Do2(v.TrySet(within(t), none, []byte("a")))(t)
	require.True(t, isSet)
	_, isSet = must.Do2(v.TrySet(within(t), none, []byte("b")))(t)
	require.False(t, isSet, "there is one")
	second := must.Do(v.Set(within(t), []byte("c")))(t)
	require.Greater(t, second.Zxid, first.Zxid)
	require.Equal(t, second, must.Do(v.Seed(within(t), []byte("d")))(t))
	errStop := errors.New("stop")
	_, err := v.Update(within(t), func(recipes.Value) ([]byte, error) { return nil, errStop })
	require.ErrorIs(t, err, errStop)
	var seen []string
	for value, err := range v.Follow(within(t)) {
		require.NoError(t, err)
		if seen = append(seen, string(value.Data)); len(seen) == 3 {
			break
		}
		must.Do(v.Set(within(t), append(value.Data, 'x')))(t)
	}
	require.Equal(t, []string{"c", "cx", "cxx"}, seen)
}

func TestSharedValueFollowsThroughCuts(t *testing.T) {
	root, k := rootOf(t), newLink(t)
	writer := recipes.NewSharedValue(dial(t), root)
	var last atomic.Int64
	for value, err := range recipes.NewSharedValue(dialAt(t, k.Addr()), root).Follow(within(t)) {
		require.NoError(t, err)
		require.GreaterOrEqual(t, int64(value.Zxid), last.Swap(int64(value.Zxid)))
		if string(value.Data) == "5" {
			return
		}
		k.Shut()
		// other clients hear of it when the link heals
		must.Do(writer.Set(within(t), fmt.Append(nil, value.Version+1)))(t)
		k.Open()
	}
	require.Fail(t, "never seen")
}
