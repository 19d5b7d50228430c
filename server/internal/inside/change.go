package inside

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"strconv"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Changes is how visitors change znodes. Each change goes through a session of its own, so that everything holds that
// holds for clients; what a change of many znodes would do is read from the tree before. Any goroutine may call it.
type Changes struct {
	*visible.Shown
	front *serve.Front
}

// New returns the changes of a server, which also show what visitors see of it.
func New(shown *visible.Shown, front *serve.Front) *Changes { return &Changes{shown, front} }

func refusal(status int, text string) error { return &visible.Refusal{Status: status, Text: text} }

// Change is a change of one znode.
type Change struct {
	Kind       changeKind
	Path       string
	Data       []byte
	ACL        []znodetext.ACL // of a create nil stands for the open list
	Version    int32           // that the znode must have, or its ACL for ChangeACL; -1 for any
	Sequential bool            // of a create
	Container  bool            // of a create
	TTL        int64           // of a create, ms; 0 for none
}

// changeKind is what a Change does.
type changeKind uint8

// The kinds of changes.
const (
	ChangeCreate changeKind = iota
	ChangeData
	ChangeDelete
	ChangeACL
)

// String names the kind for logs.
func (k changeKind) String() string { return [...]string{"create", "set", "delete", "setACL"}[k] }

// Change does a change and returns the path of the znode; a sequential one has got its suffix.
func (n *Changes) Change(_ context.Context, a visible.Actor, c Change) (string, error) {
	op, req, err := requestOf(&c)
	if err != nil {
		return "", err
	}
	s, err := n.open(a)
	if err != nil {
		return "", err
	}
	defer s.Close()
	reply, err := s.Do(op, req, patience)
	if err != nil {
		return "", err
	}
	if c.Kind == ChangeCreate {
		var made proto.Create2Response
		if err := made.ReadFrom(reply); err != nil {
			return "", fmt.Errorf("the answer cannot be read: %w", err)
		}
		return made.Path.String(), nil
	}
	return c.Path, nil
}

// requestOf is a change in the protocol of clients.
func requestOf(c *Change) (proto.OpCode, record, error) {
	path := proto.Text(c.Path)
	if paths.FaultAt(path, c.Sequential) >= 0 {
		return 0, nil, proto.ErrBadArguments
	}
	acl, err := aclOf(c)
	if err != nil {
		return 0, nil, err
	}
	switch c.Kind {
	case ChangeCreate:
		mode, op := proto.ModePersistent, proto.OpCreate2
		switch {
		case c.TTL != 0 && (c.Container || c.TTL < 1 || c.TTL > proto.MaxTTL):
			return 0, nil, refusal(http.StatusBadRequest, "a TTL is 1 to 1099511627775 ms, and not of a container")
		case c.TTL != 0:
			mode = proto.ModePersistentTTL
			if c.Sequential {
				mode = proto.ModePersistentSequentialTTL
			}
			return proto.OpCreateTTL, &proto.CreateTTLRequest{Path: path, Data: c.Data, Acl: acl, Flags: int32(mode),
				Ttl: c.TTL}, nil
		case c.Sequential && c.Container:
			return 0, nil, refusal(http.StatusBadRequest, "a container is not sequential")
		case c.Sequential:
			mode = proto.ModePersistentSequential
		case c.Container:
			mode, op = proto.ModeContainer, proto.OpCreateContainer
		}
		return op, &proto.CreateRequest{Path: path, Data: c.Data, Acl: acl, Flags: int32(mode)}, nil
	case ChangeData:
		return proto.OpSetData, &proto.SetDataRequest{Path: path, Data: c.Data, Version: c.Version}, nil
	case ChangeDelete:
		return proto.OpDelete, &proto.DeleteRequest{Path: path, Version: c.Version}, nil
	}
	return proto.OpSetACL, &proto.SetACLRequest{Path: path, Acl: acl, Version: c.Version}, nil
}

// aclOf is the ACL of a change in the protocol of clients. The server checks its schemes and ids.
func aclOf(c *Change) (list []proto.ACL, err error) {
	switch {
	case c.Kind != ChangeCreate && c.Kind != ChangeACL:
		return nil, nil
	case c.ACL == nil && c.Kind == ChangeCreate:
		return []proto.ACL{{Perms: proto.PermAll,
			Id: proto.ID{Scheme: proto.Text(auth.SchemeWorld), Id: proto.Text("anyone")}}}, nil
	}
	for _, e := range c.ACL {
		perms, bad := znodetext.ParsePerms(e.Perms)
		if bad != "" || bits.OnesCount32(uint32(perms)) != len(e.Perms) {
			return nil, refusal(http.StatusBadRequest,
				"permissions "+strconv.Quote(e.Perms)+" are not some of the letters cdrwa, each once")
		}
		list = append(list, proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}})
	}
	return list, nil
}

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
func (n *Changes) Follow(ctx context.Context, a visible.Actor, path string, yield func(Happening) bool) error {
	s, err := n.open(a)
	if err != nil {
		return err
	}
	return s.Follow(ctx, path, func(e event) bool {
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
