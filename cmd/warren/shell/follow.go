package shell

import (
	"context"
	"errors"
	"time"

	"github.com/seed94657493/warren/client"
)

// changeResult is a line of watch.
type changeResult struct {
	Time string      `json:"time"`
	Type string      `json:"type"`
	Path string      `json:"path"`
	Zxid string      `json:"zxid,omitempty"`
	Data *dataResult `json:"data,omitempty"`
	note string
}

func (r changeResult) appendText(b []byte, c colours) []byte {
	b = append(b, c.dim(r.Time)...)
	b = append(append(b, ' '), c.yellow(r.Type)...)
	b = append(append(b, ' '), c.name(r.Path)...)
	if r.Zxid != "" {
		b = append(append(b, ' '), c.dim(r.Zxid)...)
	}
	if r.note != "" {
		b = append(append(b, ' '), c.dim("("+r.note+")")...)
	}
	if r.Data != nil {
		b = append(append(b, "\n    "...), c.cyan(c.foreign(string(r.Data.text)))...)
	}
	return append(b, '\n')
}

// runFollow prints the changes of a subtree as they come. It outlasts lost connections, and says where changes may be
// missing.
func runFollow(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	count, err := a.numberAndPath("c", 0, path)
	if err != nil {
		return err
	}
	s.link.followed.Store(&path)
	defer s.link.followed.Store(nil)
	w, err := s.beginFollow(ctx, path, a)
	if err != nil {
		return err
	}
	defer w.Close()
	if s.o.Typed {
		s.out.warn("watching " + path + ", Ctrl-C ends")
	}
	for n := int32(0); count == 0 || n < count; {
		e, ok := w.Next(ctx)
		if !ok {
			break
		}
		r := changeResult{Time: time.Now().Format("15:04:05.000"), Type: e.Type.String(), Path: e.Path}
		if e.Zxid > 0 {
			r.Zxid = e.Zxid.String()
		}
		switch e.Type {
		case client.WatchRearmed:
			r.note = "connected again, changes in between may be missing"
		case client.WatchOverflow:
			r.note = "too many changes at once, some are missing"
		case client.WatchLost:
			return e.Err
		case client.NodeCreated, client.NodeDataChanged:
			if a.has("d") {
				r.Data = s.dataOf(ctx, e.Path)
			}
			n++
		default:
			n++
		}
		if err := s.out.emit(r); err != nil {
			return err
		}
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return &failure{text: "Interrupted", code: codeInterrupted, err: errInterrupted}
	}
	return ctx.Err()
}

// beginFollow sets the watch. That takes a connection; what comes later waits for one as long as it takes.
func (s *Shell) beginFollow(ctx context.Context, path string, a *arguments) (*client.Watch, error) {
	ctx, release := s.link.guard(ctx)
	defer release()
	err := a.unsent()
	if ctx.Err() == nil {
		var w *client.Watch
		if w, err = s.link.watch(ctx, path, client.WatchSubtree); err == nil {
			return w, nil
		}
	}
	return nil, s.describe(err, context.Cause(ctx))
}

// dataOf returns what a changed znode holds now, nil if it cannot be read any more.
func (s *Shell) dataOf(ctx context.Context, path string) *dataResult {
	data, stat, err := s.link.client.Get(ctx, path)
	if err != nil {
		return nil
	}
	r := newDataResult(path, data, stat, &arguments{})
	return &r
}
