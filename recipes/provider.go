package recipes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/client"
)

// ErrNoInstance is returned by Provider.Pick if a service has no instance.
var ErrNoInstance = errors.New("recipes: service has no instance")

// The rule by which an instance is left alone, as in Curator.
const (
	downErrors = 2                // as many errors
	downTime   = 30 * time.Second // within this time, counted from the first, and until it is over
)

// Provider chooses instances of one service from a copy that follows the ensemble. It makes one goroutine. All methods may be called
// concurrently, and none waits for the network.
type Provider struct {
	path     string
	strategy Strategy
	cache    *client.Cache
	now      func() time.Time
	done     chan struct{}

	isStale atomic.Bool // the cache has changed since instances was made

	mu        sync.Mutex
	known     map[string]knownInstance // by path
	instances []Instance               // of known, in order; never changed, only replaced
	failing   map[string]failure       // by id
}

// knownInstance is an instance as one txn wrote it.
type knownInstance struct {
	zxid     client.Zxid
	instance Instance
	isUsable bool
}

// failure is what is known against an instance.
type failure struct {
	since  time.Time
	errors int
}

// Provider returns a provider of a service that chooses by a strategy, once its copy is complete. It must be closed. Use one for each
// service, not one for each choice.
func (d *Discovery) Provider(ctx context.Context, name string, strategy Strategy) (*Provider, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, client.ErrBadArguments
	}
	path := childOf(d.base, name)
	cache, err := d.c.NewCache(ctx, path)
	if err != nil {
		return nil, err
	}
	p := &Provider{path: path, strategy: strategy, cache: cache, now: time.Now, done: make(chan struct{}), failing: map[string]failure{}}
	p.isStale.Store(true)
	go p.follow()
	return p, nil
}

// follow takes note of changes until the cache is over.
func (p *Provider) follow() {
	defer close(p.done)
	for range p.cache.Changes(context.Background()) {
		p.isStale.Store(true)
	}
}

// current returns the instances. What has not changed is not decoded again. REQUIRES: mu.
func (p *Provider) current() []Instance {
	if !p.isStale.Swap(false) {
		return p.instances
	}
	known := make(map[string]knownInstance, len(p.known))
	p.cache.View(func(v client.View) {
		for n := range v.All() {
			k, ok := p.known[n.Path]
			if !ok || k.zxid != n.Stat.Mzxid {
				s, err := decodeInstance(n.Data)
				k = knownInstance{n.Stat.Mzxid, s, err == nil && !s.Disabled}
			}
			if n.Path != p.path {
				known[n.Path] = k
			}
		}
	})
	p.known, p.instances = known, make([]Instance, 0, len(known))
	for _, path := range slices.Sorted(maps.Keys(known)) {
		if known[path].isUsable {
			p.instances = append(p.instances, known[path].instance)
		}
	}
	return p.instances
}

// Instances returns all instances that are not disabled, in the order of their znodes.
func (p *Provider) Instances() []Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.current())
}

// Pick chooses an instance. Those with two errors within 30 s are left out until the 30 s are over; if that leaves none, the errors
// say nothing about which is better, and all are offered. Errors: ErrNoInstance.
func (p *Provider) Pick() (Instance, error) {
	p.mu.Lock()
	offered := p.current()
	if len(p.failing) > 0 {
		now := p.now()
		maps.DeleteFunc(p.failing, func(_ string, f failure) bool { return now.Sub(f.since) >= downTime })
		up := slices.DeleteFunc(slices.Clone(offered), func(s Instance) bool { return p.failing[s.ID].errors >= downErrors })
		if len(up) > 0 {
			offered = up
		}
	}
	p.mu.Unlock()
	if len(offered) == 0 {
		return Instance{}, ErrNoInstance
	}
	return p.strategy.Pick(offered), nil
}

// NoteError says that an instance did not do what it should.
func (p *Provider) NoteError(s Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, isKnown := p.failing[s.ID]
	if now := p.now(); !isKnown || now.Sub(f.since) >= downTime {
		f = failure{since: now}
	}
	f.errors++
	p.failing[s.ID] = f
}

// Done returns a channel that is closed when the instances are followed no more; Err says why.
func (p *Provider) Done() <-chan struct{} { return p.done }

// Err returns why the instances are followed no more, nil while they are.
func (p *Provider) Err() error { return p.cache.Err() }

// Close ends the copy and waits for its goroutine. What it shows stays.
func (p *Provider) Close() {
	p.cache.Close()
	<-p.done
}
