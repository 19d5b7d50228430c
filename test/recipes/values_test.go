package recipes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

const lastValue = "the last" // is what the last value of a shared value begins with

// ledger is a shared value and what was seen of it.
type ledger struct {
	*work
	path     string
	updaters sync.WaitGroup

	mu      sync.Mutex
	changes []Change
	sights  []Sight
}

// values replaces a shared value again and again, in every way, while others follow it.
func (k *work) values() judge {
	l := &ledger{work: k, path: "/work/value"}
	l.updaters.Add(workers)
	k.each(30, patience, l.update)
	k.each(31, patience, l.follow)
	k.until(&l.mu, func() bool {
		return slices.ContainsFunc(l.changes, func(c Change) bool { return c.Outcome == Known })
	})
	return l.judge
}

func versionOf(v recipes.Value) int32 {
	if !v.Exists {
		return -1
	}
	return v.Version
}

func (l *ledger) note(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = append(l.changes, c)
}

func (l *ledger) see(client int, v recipes.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sights = append(l.sights, Sight{client, string(v.Data), versionOf(v)})
}

// update replaces the value until the trouble is over. Then the first worker writes the last value.
func (l *ledger) update(i int, w *worker) {
	v := recipes.NewSharedValue(w.session(), l.path)
	seen := recipes.Value{}
	for n := 0; !l.isOver(); n++ {
		w.disturb()
		seen = l.change(l.during, v, fmt.Sprintf("%d-%d", i, n), seen, w.rand.IntN(3) == 0)
		if now, err := v.Get(l.during); err == nil {
			l.see(i, now)
			if w.rand.IntN(2) == 0 {
				seen = now
			}
		}
	}
	l.updaters.Done()
	if i != 0 {
		return
	}
	l.updaters.Wait()
	for n := 0; l.finally.Err() == nil; n++ {
		if now := l.change(l.finally, v, fmt.Sprint(lastValue, n), recipes.Value{}, false); now.Exists {
			return
		}
	}
}

// change tries once to replace the value, in one of two ways, and returns what is known of it then.
func (l *ledger) change(
	ctx context.Context, v *recipes.SharedValue, value string, seen recipes.Value, isTry bool,
) recipes.Value {
	c := Change{Value: value, Call: l.history.Now(), Before: string(seen.Data), Previous: versionOf(seen)}
	now, isSet, err := recipes.Value{}, true, error(nil)
	if isTry {
		now, isSet, err = v.TrySet(ctx, seen, []byte(value))
	} else {
		now, err = v.Update(ctx, func(old recipes.Value) ([]byte, error) {
			c.Before, c.Previous = string(old.Data), versionOf(old)
			return []byte(value), nil
		})
	}
	c.Return = l.history.Now()
	switch {
	case err == nil && isSet:
		c.Outcome, c.Version = Known, versionOf(now)
	case err == nil && versionOf(now) == versionOf(seen):
		l.Errorf("value: %q was not set, although version %d was what was seen", value, versionOf(seen))
	case client.MayHaveApplied(err):
		c.Outcome = Unknown
	case err != nil && ctx.Err() == nil && !client.SafeToRetry(err):
		l.Errorf("value: %v", err)
	}
	l.note(c)
	if err != nil {
		return seen
	}
	return now
}

// follow sees values until the last.
func (l *ledger) follow(i int, w *worker) {
	v := recipes.NewSharedValue(w.session(), l.path)
	for value, err := range v.Follow(l.finally) {
		if err != nil {
			l.Errorf("value: follow: %v", err)
			return
		}
		l.see(workers+i, value)
		if strings.HasPrefix(string(value.Data), lastValue) {
			return
		}
		w.disturb()
	}
	l.Errorf("value: the last was never seen")
}

func (l *ledger) judge() {
	known, unknown := 0, 0
	for _, c := range l.changes {
		switch c.Outcome {
		case Known:
			known++
		case Unknown:
			unknown++
		}
	}
	l.Logf("value: %d changes, %d acknowledged, %d unknown, %d sights", len(l.changes), known, unknown, len(l.sights))
	require.NoError(l, JudgeChanges(l.changes, l.sights))
}
