package inside

import (
	"context"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
)

// Happening is a change of a znode, as told by changes.
type Happening struct {
	Type string `json:"type" doc:"created, deleted, changed or children"`
	Path string `json:"path" doc:"of the znode"`
	Zxid string `json:"zxid" doc:"the txn, hexadecimal; empty if it is not known"`
	At   int64  `json:"at" doc:"when the server has told it, ms since 1970"`
}

// happenings are the words of the API for events.
var happenings = map[proto.EventType]string{proto.EventNodeCreated: "created", proto.EventNodeDeleted: "deleted",
	proto.EventNodeDataChanged: "changed", proto.EventNodeChildrenChanged: "children"}

// Follow calls yield for every change at or below path that the actor may see, until yield returns false or ctx is
// done. It begins with a Happening without a type. It is a persistent recursive watch of a session of its own.
func (n *Changes) Follow(ctx context.Context, a facts.Actor, path string, yield func(Happening) bool) error {
	s, err := n.open(a)
	if err != nil {
		return err
	}
	return s.Follow(ctx, path, func(e Event) bool {
		if e.Type == 0 {
			return yield(Happening{})
		}
		h := Happening{Type: happenings[e.Type], Path: e.Path, At: time.Now().UnixMilli()}
		if e.Zxid != 0 {
			h.Zxid = e.Zxid.String()
		}
		return yield(h)
	})
}
