package recipes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed94657493/warren/client"
)

// ErrInvalid means that the processes that use a configuration refuse it.
var ErrInvalid = errors.New("recipes: invalid configuration")

// Config is the configuration of the paper that fits one znode: processes read it when they start and are told
// when it changes.
//
//	/path    persistent; its data is the configuration
//
// Guarantee: an invalid configuration is never shown, and never published through Publish. A connected process
// arrives at the latest configuration, though not at every one, and none goes back to an older one. A process
// that is cut off keeps its last one. The guarantee fails if processes disagree about which data are valid. For a
// configuration of many parts, see Bundle. A Config has no state and may be used concurrently. Source: the
// paper's section 2.4.
type Config[T any] struct {
	cell
	decode func(data []byte) (T, error)
}

// NewConfig returns the configuration at a path. Decode turns the data into a value, and returns an error for data
// that cannot be used; it must not keep the data.
func NewConfig[T any](
	c *client.Client, path string, decode func(data []byte) (T, error), options ...Option,
) *Config[T] {
	return &Config[T]{cell{c, path, newOptions(options)}, decode}
}

// Revision is a configuration as one Publish wrote it.
type Revision[T any] struct {
	Value T
	Zxid  client.Zxid // grows with every publication
}

// Publish replaces the configuration. An invalid one is refused with ErrInvalid. It may repeat the write after a
// lost connection.
func (g *Config[T]) Publish(ctx context.Context, data []byte) error {
	if _, err := g.decode(data); err != nil {
		return g.refuse(err)
	}
	_, err := g.put(ctx, data)
	return err
}

func (g *Config[T]) refuse(err error) error {
	return fmt.Errorf("%w at %s: %w", ErrInvalid, g.path, err)
}

// Read returns the configuration. Errors: ErrInvalid, and ErrNoNode of package client if there is none.
func (g *Config[T]) Read(ctx context.Context) (Revision[T], error) {
	now, err := g.read(ctx)
	if err == nil && !now.Exists {
		err = g.missing()
	}
	if err != nil {
		return Revision[T]{}, err
	}
	return g.revision(now)
}

func (g *Config[T]) missing() error {
	return &client.Error{Op: "getData", Path: g.path, Err: client.ErrNoNode}
}

func (g *Config[T]) revision(now client.Node) (Revision[T], error) {
	value, err := g.decode(now.Data)
	if err != nil {
		return Revision[T]{}, g.refuse(err)
	}
	return Revision[T]{value, now.Stat.Mzxid}, nil
}

// Open waits for a valid configuration, which may be created later, and returns a copy that follows it. It must
// be closed. If ctx ends first, the error is that of ctx and also says why there was no configuration: ErrNoNode
// of package client if there was no znode, ErrInvalid if its data was refused. A program that must not wait calls
// Read first.
func (g *Config[T]) Open(ctx context.Context) (*LiveConfig[T], error) {
	life, stop := context.WithCancel(context.Background())
	l := &LiveConfig[T]{config: g, stop: stop, done: make(chan struct{}),
		changed: make(chan struct{}), news: make(chan struct{})}
	go l.run(life)
	for {
		revision, changed := l.Current()
		if revision.Zxid != 0 {
			return l, nil
		}
		select {
		case <-changed:
			continue
		case <-l.done:
		case <-ctx.Done():
		}
		l.Close()
		if err := l.Err(); err != nil {
			return nil, err
		}
		_, refused := l.Refused()
		return nil, errors.Join(ctx.Err(), refused)
	}
}

// LiveConfig is the latest valid configuration, kept up to date by one goroutine. All methods may be called
// concurrently, and none waits for the network.
type LiveConfig[T any] struct {
	config *Config[T]
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	now     Revision[T]
	changed chan struct{} // closed when now is replaced
	refused error         // why the newest data is not used, or why there is none yet
	news    chan struct{} // closed when refused changes
	err     error         // why the configuration is no longer followed
}

// Current returns the latest valid configuration, and a channel that is closed when there is a later one.
func (l *LiveConfig[T]) Current() (revision Revision[T], changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.changed
}

// Refused returns why the newest data is not used (an ErrInvalid, or nil if it is used), and a channel that is
// closed when that changes. A deletion of the configuration changes nothing: the last one stays valid.
func (l *LiveConfig[T]) Refused() (changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news, l.refused
}

// Done returns a channel that is closed when the configuration is no longer followed; Err says why.
func (l *LiveConfig[T]) Done() <-chan struct{} { return l.done }

// Err returns why the configuration is no longer followed; nil while it is, and after Close.
func (l *LiveConfig[T]) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the copy and waits for its goroutine. The last revision stays readable.
func (l *LiveConfig[T]) Close() {
	l.stop()
	<-l.done
}

func (l *LiveConfig[T]) run(ctx context.Context) {
	defer close(l.done)
	for node, err := range l.config.c.Follow(ctx, l.config.path) {
		switch {
		case err != nil:
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
		case node.Exists:
			l.show(l.config.revision(node))
		default:
			l.miss()
		}
	}
}

// show makes a revision the current one, unless it is refused or was shown before.
func (l *LiveConfig[T]) show(revision Revision[T], err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse(err)
	if err != nil || revision.Zxid <= l.now.Zxid {
		return
	}
	l.now = revision
	close(l.changed)
	l.changed = make(chan struct{})
}

// miss notes that there is no configuration, if there never was one.
func (l *LiveConfig[T]) miss() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Zxid == 0 {
		l.refuse(l.config.missing())
	}
}

// refuse notes why the newest data is not used; nil if it is used. REQUIRES: mu.
func (l *LiveConfig[T]) refuse(err error) {
	if err == nil && l.refused == nil {
		return
	}
	l.refused = err
	close(l.news)
	l.news = make(chan struct{})
}
