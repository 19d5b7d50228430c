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
	"github.com/seed94657493/warren/proto/paths"
)

// ErrNoInstance is returned by Provider.Pick if a service has no instance.
var ErrNoInstance = errors.New("recipes: service has no instance")

// An instance with too many errors is not chosen for a while, by the rule of Curator.
const (
	downErrors = 2 // so many errors
	// Within this time from the first error; the instance is not chosen until it has passed.
	downTime = 30 * time.Second
)

// Provider chooses instances of one service from a copy that follows the ensemble. It starts one goroutine. All
// methods may be called concurrently, and none waits for the network.
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

// failure counts the errors of an instance.
type failure struct {
	since  time.Time
	errors int
}

// Provider returns a provider of a service that chooses by a strategy, once its copy is complete. It must be
// closed. Use one for each service, not one for each choice.
func (d *Discovery) Provider(ctx context.Context, name string, strategy Strategy) (*Provider, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, client.ErrBadArguments
	}
	path := paths.ChildOf(d.base, name)
	cache, err := d.c.NewCache(ctx, path)
	if err != nil {
		return nil, err
	}
	p := &Provider{path: path, strategy: strategy, cache: cache, now: time.Now, done: make(chan struct{}),
		failing: map[string]failure{}}
	p.isStale.Store(true)
	go p.follow()
	return p, nil
}

// follow notes changes until the cache ends.
func (p *Provider) follow() {
	defer close(p.done)
	for range p.cache.Changes(context.Background()) {
		p.isStale.Store(true)
	}
}

// current returns the instances. Unchanged ones are not decoded again. REQUIRES: mu.
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

// Pick chooses an instance. Those with two errors within 30 s are left out until the 30 s have passed. If that
// leaves none, the errors do not show which instance is better, and all are candidates. Errors: ErrNoInstance.
func (p *Provider) Pick() (Instance, error) {
	p.mu.Lock()
	offered := p.current()
	if len(p.failing) > 0 {
		now := p.now()
		maps.DeleteFunc(p.failing, func(_ string, f failure) bool { return now.Sub(f.since) >= downTime })
		up := slices.DeleteFunc(slices.Clone(offered),
			func(s Instance) bool { return p.failing[s.ID].errors >= downErrors })
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

// NoteError notes a failure of an instance.
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

// Done returns a channel that is closed when the instances are no longer followed; Err says why.
func (p *Provider) Done() <-chan struct{} { return p.done }

// Err returns why the instances are no longer followed; nil while they are.
func (p *Provider) Err() error { return p.cache.Err() }

// Close ends the copy and waits for its goroutine. The last instances stay readable.
func (p *Provider) Close() {
	p.cache.Close()
	<-p.done
}
