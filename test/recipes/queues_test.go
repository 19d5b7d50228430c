package recipes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// consumer is what the queues have in common.
type consumer interface {
	Take(ctx context.Context) (*recipes.Delivery, error)
	Len(ctx context.Context) (int, error)
}

// put puts one batch into a queue, which takes of priority and due what it has.
type put func(ctx context.Context, priority int32, due time.Time, data []byte) error

// store is one kind of queue.
type store struct {
	kind uint64 // of its workers
	open func(c *client.Client, items, locks string) (consumer, put)
	due  bool // its batches have a time
}

var stores = map[string]store{
	"Queue": {kind: 3, open: func(c *client.Client, items, locks string) (consumer, put) {
		q := recipes.NewQueue(c, items, locks)
		return q, func(ctx context.Context, _ int32, _ time.Time, data []byte) error { return q.Put(ctx, data) }
	}},
	"PriorityQueue": {kind: 10, open: func(c *client.Client, items, locks string) (consumer, put) {
		q := recipes.NewPriorityQueue(c, items, locks)
		return q, func(ctx context.Context, priority int32, _ time.Time, data []byte) error {
			return q.Put(ctx, priority, data)
		}
	}},
	"DelayQueue": {kind: 20, due: true, open: func(c *client.Client, items, locks string) (consumer, put) {
		q := recipes.NewDelayQueue(c, items, locks)
		return q, func(ctx context.Context, _ int32, due time.Time, data []byte) error {
			return q.Put(ctx, due, data)
		}
	}},
}

// stock is one queue and what was seen of it.
type stock struct {
	*work
	store
	name         string
	items, locks string

	choice sync.RWMutex // held alone by a consumer whose choice is to be judged

	mu    sync.Mutex
	all   map[int]*Batch
	looks []Look
}

// queue puts batches into a queue and consumes them. Consumers lose their sessions at times.
func (k *work) queue(name string) judge {
	s := &stock{work: k, store: stores[name], name: name, items: "/work/" + name + "/items",
		locks: "/work/" + name + "/locks", all: map[int]*Batch{}}
	k.each(s.kind, patience, s.produce)
	k.each(s.kind+1, sessionTimeout3, s.consume)
	k.until(&s.mu, func() bool {
		for _, batch := range s.all {
			if batch.IsKnown {
				return true
			}
		}
		return false
	})
	return s.judge
}

// produce puts batches until the trouble is over.
func (s *stock) produce(_ int, w *worker) {
	_, put := s.open(w.session(), s.items, s.locks)
	for !s.isOver() {
		w.disturb()
		batch := &Batch{}
		due := time.Now().Add(time.Duration(w.rand.IntN(300)-50) * time.Millisecond).Round(0)
		if s.due {
			batch.Due = due
		}
		s.mu.Lock()
		number := len(s.all) + 1
		s.all[number] = batch
		s.mu.Unlock()
		err := put(s.during, int32(w.rand.IntN(5)-2), due, []byte(strconv.Itoa(number)))
		s.mu.Lock()
		batch.IsKnown = err == nil
		batch.IsPut = err == nil || client.MayHaveApplied(err)
		s.mu.Unlock()
		if !batch.IsPut && !s.isOver() && !client.SafeToRetry(err) {
			s.Errorf("%s: put: %v", s.name, err)
		}
		pause := time.NewTimer(time.Duration(w.rand.IntN(20)) * time.Millisecond)
		<-pause.C
	}
}

// consume takes batches until the trouble is over and none is left.
func (s *stock) consume(_ int, w *worker) {
	for s.finally.Err() == nil {
		q, _ := s.open(w.session(), s.items, s.locks)
		if s.isOver() {
			if n, err := q.Len(s.finally); n == 0 && err == nil && w.c.Sync(s.finally, "/") == nil {
				if n, err := q.Len(s.finally); n == 0 && err == nil {
					return
				}
			}
		}
		w.disturb()
		ctx, cancel := context.WithTimeout(s.finally, time.Second) // to see the end of the queue
		call := s.history.Now()
		d, err := s.take(ctx, w, q)
		cancel()
		if err != nil {
			continue
		}
		batch := s.note(d, call)
		switch r := w.rand.IntN(30); {
		case batch == nil:
			return
		case r == 0 && !s.isOver(): // dies with it
			w.path.Stop()
			<-d.Context().Done()
			w.path.Go()
			_ = w.c.Close()
			w.c = nil
			continue
		case r == 1:
			if err := d.Release(s.finally); err != nil {
				s.Errorf("%s: release: %v", s.name, err)
			}
			continue
		}
		s.mu.Lock()
		batch.IsDone = true
		s.mu.Unlock()
		if err := d.Done(s.finally); err == nil {
			s.mu.Lock()
			if batch.DoneAt == 0 {
				batch.DoneAt = s.history.Now()
			}
			s.mu.Unlock()
		} else if !errors.Is(err, client.ErrSessionExpired) {
			s.Errorf("%s: done: %v", s.name, err)
		}
	}
}

// note adds a delivery to the history of its batch.
func (s *stock) note(d *recipes.Delivery, call int64) *Batch {
	at := time.Now().Round(0)
	number, err := strconv.Atoi(string(d.Items[0]))
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.all[number]
	if err != nil || batch == nil {
		s.Errorf("%s: item %q", s.name, d.Items[0])
		return nil
	}
	batch.Takes = append(batch.Takes, Take{call, at})
	return batch
}

// take is one Take, now and then without another beside it, so that its choice can be judged.
func (s *stock) take(ctx context.Context, w *worker, q consumer) (*recipes.Delivery, error) {
	if w.rand.IntN(3) > 0 {
		s.choice.RLock()
		defer s.choice.RUnlock()
		return q.Take(ctx)
	}
	s.choice.Lock()
	defer s.choice.Unlock()
	if err := w.c.Sync(ctx, "/"); err != nil { // all locks of others are seen
		return nil, err
	}
	locked, err := children(ctx, w.c, s.locks)
	if err != nil {
		return nil, err
	}
	free, err := children(ctx, w.c, s.items)
	if err != nil {
		return nil, err
	}
	d, err := q.Take(ctx)
	if err != nil {
		return nil, err
	}
	// A lock that has gone meanwhile was there, and one that has come is of a request that was given up and arrived
	// late.
	later, err := children(ctx, w.c, s.locks)
	if err != nil {
		return d, nil
	}
	free = slices.DeleteFunc(free,
		func(name string) bool { return slices.Contains(locked, name) || slices.Contains(later, name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, Look{d.Path()[strings.LastIndexByte(d.Path(), '/')+1:], free})
	return d, nil
}

// children lists what is below a znode, if there is one.
func children(ctx context.Context, c *client.Client, path string) ([]string, error) {
	names, _, err := c.Children(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		err = nil
	}
	return names, err
}

func (s *stock) judge() {
	known, takes, chosen := 0, 0, 0 // choices among several
	for _, batch := range s.all {
		takes += len(batch.Takes)
		if batch.IsKnown {
			known++
		}
	}
	for _, l := range s.looks {
		if len(l.Free) > 0 {
			chosen++
		}
	}
	s.Logf("%s: %d batches, %d acknowledged, taken %d times, %d choices judged", s.name, len(s.all),
		known, takes, chosen)
	require.NoError(s, JudgeBatches(s.all), s.name)
	require.NoError(s, JudgeLooks(s.looks), s.name)
}
