package recipes

import (
	"context"
	"errors"
	"iter"

	"github.com/seed94657493/warren/client"
)

const latchMarker = "latch-"

// Election chooses one leader among candidates; if it goes, the one that came next follows.
//
//	/path/_c_<uuid>-latch-0000000003    leads; its data is its id
//	/path/_c_<uuid>-latch-0000000004    is next, watches 3
//	/path/_c_<uuid>-latch-0000000005    watches 4
//
// Guarantee: at most one candidate's Hold has a living Context, leaders follow each other in the order of candidature, and each has a larger
// Token than those before it. Leadership ends at once when the connection is lost: the znode may still be first afterwards, but somebody
// else may have led in between, so the candidate gets back in line. It breaks when a leader acts without looking at
// Context; the token covers that. NewLatch has the layout of Curator's LeaderLatch and NewSelector that of its LeaderSelector. An
// Election has no state and may be used concurrently. Source: operations 9.2.
type Election struct {
	line   line
	marker string
}

// NewLatch returns the election at a path, in which this participant is called id.
func NewLatch(c *client.Client, path, id string, options ...Option) *Election {
	return newElection(c, path, id, latchMarker, options)
}

// NewSelector is NewLatch in the layout of Curator's LeaderSelector.
func NewSelector(c *client.Client, path, id string, options ...Option) *Election {
	return newElection(c, path, id, lockMarker, options)
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

// Run campaigns and calls lead with a context that ends with the leadership, or with ctx. When lead returns nil or an error, the leadership
// is given up and Run returns it; if the leadership was lost meanwhile, Run campaigns again. It also does so after a session
// expired while waiting, if the client opens a new one (client.WithRenewal). Lead must return soon after its context has ended: the next
// leader does not wait for it. The token is for fencing.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, token client.Zxid) error) error {
	for {
		h, err := e.Campaign(ctx)
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

// term calls lead once and gives up the leadership. It tells whether it was lost before.
func (e *Election) term(ctx context.Context, h *Hold, lead func(ctx context.Context, token client.Zxid) error) (isLost bool, err error) {
	leading, cancel := context.WithCancelCause(h.Context())
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

// Leader is who leads at one moment.
type Leader struct {
	ID    string      // of the participant
	Path  string      // its znode; "" if nobody leads
	Token client.Zxid // its fencing token
}

// Exists reports whether somebody leads.
func (l Leader) Exists() bool { return l.Path != "" }

// Participants returns the leader and the candidates behind it, in the order in which they will lead.
func (e *Election) Participants(ctx context.Context) ([]Contender, error) {
	return e.line.contenders(ctx)
}

// Leader returns who leads. The answer may be old when it arrives, and a server that is behind may name a former leader. A leader that
// is cut off is named until its session expires, although it leads no more.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	leader, w, err := e.observe(ctx)
	if w != nil {
		w.Close()
	}
	return leader, err
}

// Observe ranges over the leaders, beginning with the current one, without taking part. It yields a Leader that does not Exist while there
// is none. Leaders that follow each other quickly may be left out, the last never is. The range ends with an error, or silently when
// ctx ends. An observer is woken when the leader goes, not when candidates do.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		var last Leader
		for isFirst := true; ; isFirst = false {
			leader, w, err := e.observe(ctx)
			if err == nil {
				if (isFirst || leader != last) && !yield(leader, nil) {
					w.Close()
					return
				}
				last = leader
				err = awaitEvent(ctx, w)
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(Leader{}, err)
				return
			}
		}
	}
}

// observe reads who leads and returns a watch that fires when it goes, or when somebody may come if there is nobody.
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
		path := childOf(e.line.parent, line[0].name)
		err = client.Retry(ctx, func(ctx context.Context) error {
			data, stat, watch, err := e.line.c.GetW(ctx, path)
			leader, w = Leader{string(data), path, stat.Czxid}, watch
			return err
		})
		if !errors.Is(err, client.ErrNoNode) {
			return leader, w, err
		}
	}
}

// watchEmpty watches for the first candidate, or for the parent. No watch and no error mean that there is a candidate.
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
		if err == nil && len(order(names, e.line.markers)) > 0 {
			watch.Close()
			return nil
		}
		w = watch
		return err
	})
	return w, err
}
