package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

const (
	servicesPath = "/work/services"
	serviceName  = "web"
)

// presence is a service whose instances come and go, and what was seen of them.
type presence struct {
	*work
	settled  sync.WaitGroup // until every worker has its last instance
	observed sync.WaitGroup // until every observer has seen the last instances

	mu       sync.Mutex
	lives    []Life
	listings []Listing
	last     map[string]int // port of every instance that is there in the end
}

// presence registers instances that go in every way there is, while others list the instances.
func (k *work) presence() judge {
	p := &presence{work: k, last: map[string]int{}}
	p.settled.Add(workers)
	p.observed.Add(workers)
	k.each(50, patience, p.serve)
	k.each(51, patience, p.observe)
	k.until(&p.mu, func() bool { return len(p.lives) > workers && p.listed() > 0 })
	return p.judge
}

// serve registers one instance after the other. The last stays until all have seen it.
func (p *presence) serve(i int, w *worker) {
	settle := sync.OnceFunc(p.settled.Done)
	defer settle()
	for n := 0; ; n++ {
		isLast := p.isOver()
		s := &served{presence: p, w: w, life: Life{ID: fmt.Sprintf("%d-%d", i, n)}, port: 1}
		s.isMortal = !isLast && w.rand.IntN(4) == 0
		s.isRenewed = isLast || w.rand.IntN(2) == 0
		if !s.begin() {
			return
		}
		if isLast {
			s.expire()
			p.mu.Lock()
			p.last[s.life.ID] = s.port
			p.mu.Unlock()
			settle()
			p.observed.Wait()
			s.end()
			return
		}
		s.run()
		s.end()
	}
}

// served is one instance.
type served struct {
	*presence
	w         *worker
	life      Life
	port      int
	isMortal  bool // its session is short, and ends by the death of its client
	isRenewed bool // it comes back under a new session
	client    *client.Client
	entry     *recipes.Registration
}

// begin registers the instance.
func (s *served) begin() bool {
	options := []client.Option{client.WithSessionTimeout(patience), client.WithConnectTimeout(connectTimeout),
		client.WithBackoff(time.Millisecond, 50*time.Millisecond)}
	if s.isMortal {
		options[0] = client.WithSessionTimeout(sessionTimeout3)
	}
	if s.isRenewed {
		options = append(options, client.WithRenewal(nil))
	}
	var err error
	if s.client, err = client.New(s.w.path.Addr(), options...); err != nil {
		s.Error(err)
		return false
	}
	s.life.Begun = s.history.Now()
	d := recipes.NewDiscovery(s.client, servicesPath)
	s.entry, err = d.Register(s.finally, recipes.Instance{Name: serviceName, ID: s.life.ID, Port: s.port})
	if err != nil && s.isMortal && errors.Is(err, client.ErrSessionExpired) {
		s.note(Life{ID: s.life.ID, Begun: s.life.Begun})
		_ = s.client.Close()
		s.isMortal = false
		return s.begin()
	}
	if err != nil {
		s.Errorf("register: %v", err)
		_ = s.client.Close()
		return false
	}
	s.life.From = s.history.Now()
	return true
}

func (s *served) note(l Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, l)
}

// run is the life of the instance: it may say something else of itself, and be disturbed.
func (s *served) run() {
	s.w.linger(s.during, 150)
	s.w.disturb()
	if s.w.rand.IntN(2) == 0 {
		s.port++
		if err := s.entry.Update(s.finally, recipes.Instance{Port: s.port}); err != nil {
			s.Errorf("update: %v", err)
		}
		s.w.linger(s.during, 50)
	}
	if !s.isMortal && s.w.rand.IntN(3) == 0 {
		s.expire()
	}
}

// expire ends the session of the instance behind its back.
func (s *served) expire() {
	s.life.To = s.history.Now()
	id, _ := s.client.Session()
	for s.finally.Err() == nil {
		ctx, cancel := context.WithTimeout(s.finally, 5*time.Second)
		err := s.ExpireSession(ctx, id)
		cancel()
		if err == nil || errors.Is(err, client.ErrSessionExpired) {
			break
		}
	}
	if !s.isRenewed {
		s.life.Gone = s.history.Now()
	}
}

// end takes the instance away, if it has not gone by itself.
func (s *served) end() {
	defer func() { s.note(s.life) }()
	if s.isMortal {
		_ = s.client.Detach() // as if it had died: its session goes on
		s.life.From = 0       // it may have ended before
		_ = s.entry.Close(s.finally)
		return
	}
	if s.life.To == 0 {
		s.life.To = s.history.Now()
	}
	if err := s.entry.Close(s.finally); err != nil {
		s.Errorf("unregister: %v", err)
	} else if s.life.Gone == 0 {
		s.life.Gone = s.history.Now()
		s.w.linger(s.during, 30) // its session is there and the instance is not
	}
	_ = s.client.Close()
}

// observe lists the instances, and waits in the end until it sees those that stay, through a Provider, too.
func (p *presence) observe(_ int, w *worker) {
	defer p.observed.Done()
	d := recipes.NewDiscovery(w.session(), servicesPath)
	provider, err := d.Provider(p.finally, serviceName, recipes.RoundRobin())
	for client.SafeToRetry(err) {
		provider, err = d.Provider(p.finally, serviceName, recipes.RoundRobin())
	}
	if err != nil {
		p.Errorf("provider: %v", err)
		return
	}
	defer provider.Close()
	for !p.isOver() {
		w.disturb()
		p.list(p.during, w, d)
		w.linger(p.during, 10)
	}
	p.settled.Wait()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		there := map[string]int{}
		for _, s := range provider.Instances() {
			there[s.ID] = s.Port
		}
		listed := p.list(p.finally, w, d)
		p.mu.Lock()
		isSame := maps.Equal(there, p.last) && slices.Equal(listed, slices.Sorted(maps.Keys(p.last)))
		p.mu.Unlock()
		if isSame {
			return
		}
		if p.finally.Err() != nil || provider.Err() != nil {
			p.Errorf("in the end there were %v and %v instead of %v: %v", there, listed, p.last, provider.Err())
			return
		}
	}
}

// list records the instances that are there.
func (p *presence) list(ctx context.Context, w *worker, d *recipes.Discovery) (ids []string) {
	l := Listing{Call: p.history.Now()}
	if w.c.Sync(ctx, servicesPath) != nil {
		return nil
	}
	instances, err := d.Instances(ctx, serviceName)
	if err != nil {
		if ctx.Err() == nil && !client.SafeToRetry(err) {
			p.Errorf("instances: %v", err)
		}
		return nil
	}
	for _, s := range instances {
		l.IDs = append(l.IDs, s.ID)
	}
	l.Return = p.history.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listings = append(p.listings, l)
	slices.Sort(l.IDs)
	return l.IDs
}

// listed returns how many instances were seen in all listings. REQUIRES: mu, or the end of all.
func (p *presence) listed() (n int) {
	for _, l := range p.listings {
		n += len(l.IDs)
	}
	return n
}

func (p *presence) judge() {
	p.Logf("presence: %d lives, %d listings of %d instances", len(p.lives), len(p.listings), p.listed())
	require.NoError(p, JudgePresence(p.lives, p.listings))
}
