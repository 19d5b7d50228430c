package recipes

import (
	"context"
	"errors"
	"iter"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// Election chooses one leader among candidates; if the leader ends, the candidate that came next follows.
//
//	/path/_c_<uuid>-latch-0000000003    leads; its data is its id
//	/path/_c_<uuid>-latch-0000000004    is next, watches 3
//	/path/_c_<uuid>-latch-0000000005    watches 4
//
// Guarantee: at most one candidate's Hold has a live Context. Leaders follow each other in the order of
// candidature, and each has a larger Token than those before it. Leadership ends at once when the connection is
// lost: the znode may still be first afterwards, but another candidate may have led in between, so the candidate
// joins the line again. The guarantee fails when a leader acts without checking Context; the token covers that.
// NewLatch has the layout of Curator's LeaderLatch and NewSelector that of its LeaderSelector. An Election has no
// state and may be used concurrently. Source: operations 9.2.
type Election struct {
	line   line
	marker string
}

// NewLatch returns the election at a path, in which this participant has the given id.
func NewLatch(c *client.Client, path, id string, options ...Option) *Election {
	return newElection(c, path, id, layouts.Latch, options)
}

// NewSelector is NewLatch in the layout of Curator's LeaderSelector.
func NewSelector(c *client.Client, path, id string, options ...Option) *Election {
	return newElection(c, path, id, layouts.Lock, options)
}

func newElection(c *client.Client, path, id, marker string, options []Option) *Election {
	o := newOptions(options)
	o.data = []byte(id)
	return &Election{line{c, path, []string{marker}, o}, marker}
}

// Campaign waits until this participant leads or ctx ends. It leads until the Hold is released or lost.
func (e *Election) Campaign(ctx context.Context) (*Hold, error) {
	return e.line.acquire(ctx, e.marker, predecessor, false)
}

// Run campaigns and calls lead with a context that ends with the leadership, or with ctx. When lead returns, Run
// gives up the leadership and returns the result of lead. If the leadership was lost meanwhile, Run campaigns
// again. It also campaigns again after a session expired while it waited, if the client opens a new session
// (client.WithRenewal). While servers refuse writes because their disks are full or a quota is used up, it waits. Lead
// must return soon after its context has ended: the next leader does not wait for it. The token is for fencing.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, token client.Zxid) error) error {
	for {
		var h *Hold
		err := persist(ctx, func(ctx context.Context) (err error) {
			h, err = e.Campaign(ctx)
			return err
		})
		switch {
		case err == nil:
			isLost, err := e.term(ctx, h, lead)
			if !isLost {
				return err
			}
		case !errors.Is(err, ErrLost) && !errors.Is(err, client.ErrSessionExpired):
			return err
		}
		if err := e.line.c.WaitConnected(ctx); err != nil {
			return err
		}
	}
}

// term calls lead once and gives up the leadership. It reports whether the leadership was lost before.
func (e *Election) term(
	ctx context.Context, h *Hold, lead func(ctx context.Context, token client.Zxid) error,
) (isLost bool, err error) {
	leading, cancel := tieTo(h.Context(), h.Context())
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	defer func() {
		isLost = h.Context().Err() != nil && ctx.Err() == nil
		if releaseErr := h.Release(ctx); err == nil && ctx.Err() == nil {
			err = releaseErr
		}
	}()
	return false, lead(leading, h.Token())
}

// Leader is the leader at one moment.
type Leader struct {
	ID    string      // of the participant
	Path  string      // its znode; "" if there is no leader
	Token client.Zxid // its fencing token
}

// Exists reports whether there is a leader.
func (l Leader) Exists() bool { return l.Path != "" }

// Participants returns the leader and the candidates after it, in the order in which they will lead.
func (e *Election) Participants(ctx context.Context) ([]Contender, error) {
	return e.line.contenders(ctx)
}

// Leader returns the current leader. The answer may be old when it arrives, and a server that lags behind may name a
// former leader. A leader that is cut off is named until its session expires, although it no longer leads.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	leader, w, err := e.observe(ctx)
	if w != nil {
		w.Close()
	}
	return leader, err
}

// Observe ranges over the leaders, beginning with the current one, without taking part. It yields a Leader that does
// not Exist while there is none. It may skip leaders in quick succession, but never the last. The range ends with an
// error, or without one when ctx ends. An observer is woken when the leader ends, not when candidates do.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return follow(ctx, e.line.c, e.observe, func(a, b Leader) bool { return a == b })
}

// observe reads the leader and returns a watch that fires when the leader ends. If there is no leader, the watch
// fires when a candidate may have come.
func (e *Election) observe(ctx context.Context) (leader Leader, w *client.Watch, err error) {
	for {
		line, err := e.line.places(ctx)
		if err != nil {
			return Leader{}, nil, err
		}
		if len(line) == 0 {
			w, err := e.watchEmpty(ctx)
			if w != nil || err != nil {
				return Leader{}, w, err
			}
			continue
		}
		path := paths.ChildOf(e.line.parent, line[0].Name)
		id, stat, w, err := readW(ctx, e.line.c, path)
		if w != nil || err != nil {
			return Leader{string(id), path, stat.Czxid}, w, err
		}
	}
}

// watchEmpty watches for the first candidate, or for the parent. No watch and no error mean that there is a
// candidate.
func (e *Election) watchEmpty(ctx context.Context) (w *client.Watch, err error) {
	err = client.Retry(ctx, func(ctx context.Context) error {
		names, _, watch, err := e.line.c.ChildrenW(ctx, e.line.parent)
		if errors.Is(err, client.ErrNoNode) {
			var exists bool
			if _, exists, watch, err = e.line.c.ExistsW(ctx, e.line.parent); err == nil && exists {
				watch.Close()
				return nil
			}
		}
		if err == nil && len(layouts.Order(names, e.line.markers)) > 0 {
			watch.Close()
			return nil
		}
		w = watch
		return err
	})
	return w, err
}
