package shell

import (
	"context"
	"errors"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// walked is a znode of a walk.
type walked struct {
	path     string
	depth    int // 0 at the root
	children []string
	stat     client.Stat
}

// errPrune returned by a visitor leaves out what is below the znode.
var errPrune = errors.New("prune")

// walk visits a subtree, parents before children and siblings in the order of their names. A znode below the root
// that is deleted meanwhile is left out.
func (s *Shell) walk(ctx context.Context, root string, visit func(walked) error) error {
	pending := []walked{{path: root}}
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		var err error
		n.children, n.stat, err = s.children(ctx, n.path, false)
		if isGone(err) && n.depth > 0 {
			continue
		}
		if err != nil {
			return err
		}
		if err := visit(n); errors.Is(err, errPrune) {
			continue
		} else if err != nil {
			return err
		}
		for i := len(n.children) - 1; i >= 0; i-- {
			pending = append(pending, walked{path: paths.ChildOf(n.path, n.children[i]), depth: n.depth + 1})
		}
	}
	return nil
}

// isGone reports whether err says that a znode does not exist.
func isGone(err error) bool { return errors.Is(err, client.ErrNoNode) }
