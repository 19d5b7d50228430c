package single_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// habit is how a recipe is used.
type habit struct {
	// once, and undone as far as that is meant to be
	use func(ctx context.Context, c *client.Client, path string) error
	// what of its znodes stays then, relative to the path
	left  []string
	waits []wait
}

// wait is something that waits until its context ends.
type wait struct {
	name string
	do   func(ctx context.Context, c *client.Client, path string) error
	// makes it wait; nil if it does so anyway
	block func(ctx context.Context, c *client.Client, path string) (end func(), err error)
	// watches that it has beyond one
	extra int
}

// steps does one thing after the other until something fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// exhausted ranges to the end, which comes with an error or with that of ctx.
func exhausted[T any](ctx context.Context, all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// locking is the habit of what gives something exclusive.
func locking[H releaser](
	lock func(c *client.Client, path string) func(context.Context) (H, error), left ...string,
) habit {
	return habit{
		left: left,
		use: func(ctx context.Context, c *client.Client, path string) error {
			h, err := lock(c, path)(ctx)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		},
		waits: []wait{{
			name: "to be granted",
			do: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(lock(c, path)(ctx))
			},
			block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
				h, err := lock(c, path)(ctx)
				return func() { _ = h.Release(ctx) }, err
			},
		}},
	}
}

// following is the wait of something that is followed.
func following[T any](follow func(ctx context.Context, c *client.Client, path string) iter.Seq2[T, error]) wait {
	return wait{name: "for changes", do: func(ctx context.Context, c *client.Client, path string) error {
		return exhausted(ctx, follow(ctx, c, path))
	}}
}

func (h habit) and(more ...wait) habit {
	h.waits = append(h.waits, more...)
	return h
}

// queueing is the habit of a queue.
func queueing(
	put func(ctx context.Context, c *client.Client, path string) error, take func(c *client.Client, path string) taker,
) habit {
	return habit{
		left: []string{"", "/items", "/locks"},
		use: func(ctx context.Context, c *client.Client, path string) error {
			if err := put(ctx, c, path); err != nil {
				return err
			}
			d, err := take(c, path)(ctx)
			if err != nil {
				return err
			}
			if err := d.Release(ctx); err != nil {
				return err
			}
			if d, err = take(c, path)(ctx); err != nil {
				return err
			}
			return d.Done(ctx)
		},
		waits: []wait{{name: "for an item", extra: 1,
			do: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(take(c, path)(ctx))
			}}},
	}
}

// numbering is the habit of a number.
func numbering[T int32 | int64](
	open func(c *client.Client, path string, options ...recipes.Option) *recipes.Number[T],
) habit {
	return habit{left: []string{""}, use: func(ctx context.Context, c *client.Client, path string) error {
		n := open(c, path)
		return steps(func() error { return n.Set(ctx, 1) }, func() error { _, err := n.Add(ctx, 1); return err },
			func() error { _, err := n.CompareAndSet(ctx, 2, 3); return err },
			func() error { _, err := n.Get(ctx); return err })
	}}.and(following(func(ctx context.Context, c *client.Client, path string) iter.Seq2[T, error] {
		return open(c, path).Follow(ctx)
	}))
}

func asIs(data []byte) ([]byte, error) { return data, nil }

// registered is an instance that another client keeps.
func registered(ctx context.Context, c *client.Client, path string) (func(), error) {
	r, err := recipes.NewDiscovery(c, path).Register(ctx, recipes.Instance{Name: "web", ID: "x"})
	return func() { _ = r.Close(ctx) }, err
}

// habits are those of all recipes, by their constructors.
var habits = map[string]habit{
	"Mutex": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewMutex(c, path).Lock
	}, ""),
	"SimpleMutex": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewSimpleMutex(c, path).Lock
	}),
	"RWMutex": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewRWMutex(c, path).Lock
	}, "").and(wait{name: "to read", do: func(ctx context.Context, c *client.Client, path string) error {
		return must.Err(recipes.NewRWMutex(c, path).RLock(ctx))
	}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
		h, err := recipes.NewRWMutex(c, path).Lock(ctx)
		return func() { _ = h.Release(ctx) }, err
	}}),
	"MultiMutex": locking(func(c *client.Client, path string) func(context.Context) (*recipes.MultiHold, error) {
		return recipes.NewMultiMutex(c, []string{path + "/a", path + "/b"}).Lock
	}, "", "/a", "/b"),
	"Semaphore": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewSemaphore(c, path, 1).Acquire
	}, "", "/leases", "/locks"),
	"Latch": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewLatch(c, path, "x").Campaign
	}, "").and(following(func(ctx context.Context, c *client.Client, path string) iter.Seq2[recipes.Leader, error] {
		return recipes.NewLatch(c, path, "x").Observe(ctx)
	})),
	"Selector": locking(func(c *client.Client, path string) func(context.Context) (*recipes.Hold, error) {
		return recipes.NewSelector(c, path, "x").Campaign
	}, ""),
	"Rendezvous": {
		use: func(ctx context.Context, c *client.Client, path string) error {
			h, err := recipes.NewRendezvous(c, path).Announce(ctx, nil)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		},
		waits: []wait{{name: "for the announcement",
			do: func(ctx context.Context, c *client.Client, path string) error {
				return must.Err(recipes.NewRendezvous(c, path).Await(ctx))
			}}},
	},
	"Group": habit{
		left: []string{""},
		use: func(ctx context.Context, c *client.Client, path string) error {
			n, err := recipes.NewGroup(c, path).Join(ctx, "x", nil)
			if err != nil {
				return err
			}
			n.Set([]byte("y"))
			return n.Close(ctx)
		},
		waits: []wait{{name: "for its name", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewGroup(c, path).Join(ctx, "x", nil))
		}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
			n, err := recipes.NewGroup(c, path).Join(ctx, "x", nil)
			return func() { _ = n.Close(ctx) }, err
		}}},
	}.and(following(func(ctx context.Context, c *client.Client, path string) iter.Seq2[[]recipes.Member, error] {
		return recipes.NewGroup(c, path).Follow(ctx)
	})),
	"PersistentNode": {
		use: func(ctx context.Context, c *client.Client, path string) error {
			n := recipes.NewPersistentNode(c, path, nil)
			return steps(func() error { return n.AwaitCreated(ctx) }, func() error { return n.Close(ctx) })
		},
		waits: []wait{{name: "for its place", do: func(ctx context.Context, c *client.Client, path string) error {
			n := recipes.NewPersistentNode(c, path, nil)
			defer n.Close(context.WithoutCancel(ctx))
			return n.AwaitCreated(ctx)
		}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
			n := recipes.NewPersistentNode(c, path, nil)
			return func() { _ = n.Close(ctx) }, n.AwaitCreated(ctx)
		}}},
	},
	"Discovery": {
		left: []string{"", "/web"},
		use: func(ctx context.Context, c *client.Client, path string) error {
			d := recipes.NewDiscovery(c, path)
			p, err := d.Provider(ctx, "web", recipes.RoundRobin())
			if err != nil {
				return err
			}
			defer p.Close()
			for i, kind := range []recipes.InstanceType{recipes.Dynamic, recipes.Static} {
				r, err := d.Register(ctx, recipes.Instance{Name: "web", ID: fmt.Sprint(i), Type: kind})
				if err != nil {
					return err
				}
				if err := r.Close(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		waits: []wait{{name: "for its id", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewDiscovery(c, path).Register(ctx, recipes.Instance{Name: "web", ID: "x"}))
		}, block: registered},
			{name: "with a provider", do: func(ctx context.Context, c *client.Client, path string) error {
				p, err := recipes.NewDiscovery(c, path).Provider(ctx, "web", recipes.Random())
				if err != nil {
					return err
				}
				defer p.Close()
				select {
				case <-p.Done():
					return p.Err()
				case <-ctx.Done():
					return ctx.Err()
				}
			}, block: registered}},
	},
	"Config": {
		left: []string{""},
		use: func(ctx context.Context, c *client.Client, path string) error {
			g := recipes.NewConfig(c, path, asIs)
			if err := g.Publish(ctx, nil); err != nil {
				return err
			}
			live, err := g.Open(ctx)
			if err == nil {
				live.Close()
			}
			return err
		},
		waits: []wait{{name: "to be published", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewConfig(c, path, asIs).Open(ctx))
		}}},
	},
	"Bundle": habit{
		left: []string{"", "/a", "/ready"},
		use: func(ctx context.Context, c *client.Client, path string) error {
			b := recipes.NewBundle(c, path)
			for _, parts := range []map[string][]byte{{"a": nil, "b": nil}, {"a": nil}} {
				if err := b.Publish(ctx, parts); err != nil {
					return err
				}
			}
			return must.Err(b.Read(ctx))
		},
		waits: []wait{{name: "to be published", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewBundle(c, path).Read(ctx))
		}}},
	}.and(wait{name: "for changes", do: func(ctx context.Context, c *client.Client, path string) error {
		return exhausted(ctx, recipes.NewBundle(c, path).Follow(ctx))
	}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
		return func() {}, recipes.NewBundle(c, path).Publish(ctx, map[string][]byte{"a": nil})
	}}),
	"Barrier": {
		use: func(ctx context.Context, c *client.Client, path string) error {
			b := recipes.NewBarrier(c, path)
			return steps(func() error { return b.Set(ctx) }, func() error { return b.Remove(ctx) },
				func() error { return b.Wait(ctx) })
		},
		waits: []wait{{name: "until it falls", do: func(ctx context.Context, c *client.Client, path string) error {
			return recipes.NewBarrier(c, path).Wait(ctx)
		}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
			b := recipes.NewBarrier(c, path)
			return func() { _ = b.Remove(ctx) }, b.Set(ctx)
		}}},
	},
	"DoubleBarrier": {
		left: []string{""},
		use: func(ctx context.Context, c *client.Client, path string) error {
			b := recipes.NewDoubleBarrier(c, path, 1)
			return steps(func() error { return b.Enter(ctx) }, func() error { return b.Leave(ctx) })
		},
		waits: []wait{{name: "for others to enter",
			do: func(ctx context.Context, c *client.Client, path string) error {
				return recipes.NewDoubleBarrier(c, path, 2).Enter(ctx)
			}}, {name: "for others to leave", do: func(ctx context.Context, c *client.Client, path string) error {
			b := recipes.NewDoubleBarrier(c, path, 1)
			return steps(func() error { return b.Enter(ctx) }, func() error { return b.Leave(ctx) })
		}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
			b := recipes.NewDoubleBarrier(c, path, 1)
			return func() { _ = b.Leave(ctx) }, b.Enter(ctx)
		}}},
	},
	"Counter":    numbering(recipes.NewCounter),
	"AtomicLong": numbering(recipes.NewAtomicLong),
	"SharedValue": habit{
		left: []string{""},
		use: func(ctx context.Context, c *client.Client, path string) error {
			v := recipes.NewSharedValue(c, path)
			return steps(func() error { _, err := v.Seed(ctx, nil); return err },
				func() error { _, err := v.Set(ctx, nil); return err }, func() error {
					return must.Err(v.Update(ctx, func(recipes.Value) ([]byte, error) { return nil, nil }))
				})
		},
	}.and(following(func(ctx context.Context, c *client.Client, path string) iter.Seq2[recipes.Value, error] {
		return recipes.NewSharedValue(c, path).Follow(ctx)
	})),
	"IDs": {left: []string{""}, use: func(ctx context.Context, c *client.Client, path string) error {
		return must.Err(recipes.NewIDs(c, path, 3).Next(ctx))
	}},
	"Names": habit{
		left: []string{""},
		use: func(ctx context.Context, c *client.Client, path string) error {
			n := recipes.NewNames(c, path)
			return steps(func() error { return n.Bind(ctx, "x", nil) },
				func() error { return n.Rebind(ctx, "x", nil) },
				func() error { _, err := n.Lookup(ctx, "x"); return err }, func() error { return n.Unbind(ctx, "x") })
		},
	}.and(following(func(ctx context.Context, c *client.Client, path string) iter.Seq2[recipes.Value, error] {
		return recipes.NewNames(c, path).Follow(ctx, "x")
	})),
	"Queue": queueing(func(ctx context.Context, c *client.Client, path string) error {
		return recipes.NewQueue(c, path+"/items", path+"/locks").Put(ctx, nil)
	}, func(c *client.Client, path string) taker {
		return recipes.NewQueue(c, path+"/items", path+"/locks").Take
	}),
	"PriorityQueue": queueing(func(ctx context.Context, c *client.Client, path string) error {
		return recipes.NewPriorityQueue(c, path+"/items", path+"/locks").Put(ctx, 1, nil)
	}, func(c *client.Client, path string) taker {
		return recipes.NewPriorityQueue(c, path+"/items", path+"/locks").Take
	}),
	"DelayQueue": queueing(func(ctx context.Context, c *client.Client, path string) error {
		return recipes.NewDelayQueue(c, path+"/items", path+"/locks").Put(ctx, time.Now(), nil)
	}, func(c *client.Client, path string) taker {
		return recipes.NewDelayQueue(c, path+"/items", path+"/locks").Take
	}),
	"TwoPhaseCommit": {
		use: func(ctx context.Context, c *client.Client, path string) error {
			p := recipes.NewTwoPhaseCommit(c, path)
			return steps(func() error { return p.Begin(ctx, nil, "a") },
				func() error { _, err := p.Vote(ctx, "a", recipes.Commit); return err },
				func() error { _, err := p.Outcome(ctx); return err }, func() error { return p.Remove(ctx) })
		},
		waits: []wait{{name: "for the votes", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewTwoPhaseCommit(c, path).Outcome(ctx))
		}, block: func(ctx context.Context, c *client.Client, path string) (func(), error) {
			return func() {}, recipes.NewTwoPhaseCommit(c, path).Begin(ctx, nil, "a")
		}}, {name: "for the beginning", do: func(ctx context.Context, c *client.Client, path string) error {
			return must.Err(recipes.NewTwoPhaseCommit(c, path).Await(ctx))
		}}},
	},
}
