package shell

import (
	"context"
	"fmt"
	"math"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto/paths"
)

// treeLine is a znode in the drawing of a subtree.
type treeLine struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Version  int32  `json:"dataVersion"`
	Bytes    int32  `json:"dataLength"`
	Children int    `json:"numChildren"`

	bars     string // what is left of the name
	name     string
	hasStat  bool
	isHidden bool // below it there is more than was asked for
}

func (l treeLine) appendText(b []byte, c colours) []byte {
	b = append(b, c.dim(l.bars)...)
	name := c.name(l.name)
	switch {
	case l.Kind == znodetext.Ephemeral:
		b = append(b, c.yellow(name)...)
	case l.Children > 0:
		b = append(b, c.blue(name)...)
	default:
		b = append(b, name...)
	}
	if l.Kind != znodetext.Persistent {
		b = append(b, c.dim(" ("+l.Kind+")")...)
	}
	if l.hasStat {
		b = append(b, c.dim(fmt.Sprintf(" v%d, %d bytes", l.Version, l.Bytes))...)
	}
	if l.isHidden {
		b = append(b, c.dim(fmt.Sprintf(" ... %d below", l.Children))...)
	}
	return append(b, '\n')
}

func runTree(ctx context.Context, s *Shell, a *arguments) error {
	root := "/"
	if len(a.words) > 0 {
		root = a.word(0)
	}
	depth, err := a.numberAndPath("d", math.MaxInt32, root)
	if err != nil {
		return err
	}
	// below[d] says whether the znode of depth d on the way to the current one has siblings after it.
	var below []bool
	lasts := map[string]bool{}
	total := 0
	err = s.walk(ctx, root, func(n walked) error {
		kind := kindOf(&n.stat)
		l := treeLine{Path: n.path, Kind: kind, Version: n.stat.Version, Bytes: n.stat.DataLength,
			Children: len(n.children), name: root, hasStat: a.has("s"),
			isHidden: n.depth == int(depth) && len(n.children) > 0}
		if n.depth > 0 {
			isLast := lasts[n.path]
			delete(lasts, n.path)
			below = append(below[:n.depth-1], !isLast)
			l.name, l.bars = paths.NameOf(n.path), bars(below)
		}
		if len(n.children) > 0 {
			lasts[paths.ChildOf(n.path, n.children[len(n.children)-1])] = true
		}
		total++
		if err := s.out.emit(l); err != nil {
			return err
		}
		if l.isHidden {
			return errPrune
		}
		return nil
	})
	if err != nil || s.out.isJSON {
		return err
	}
	return s.out.emit(note{wording.Count(total, "znode")})
}

// bars draws what is left of a name.
func bars(below []bool) string {
	text := ""
	for i, more := range below {
		switch {
		case i == len(below)-1 && more:
			text += "├── "
		case i == len(below)-1:
			text += "└── "
		case more:
			text += "│   "
		default:
			text += "    "
		}
	}
	return text
}
