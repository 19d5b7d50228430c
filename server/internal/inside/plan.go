package inside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Work is a change of many znodes, and the request for its plan.
type Work struct {
	Kind     string              `json:"kind" doc:"delete, copy, move, import or quota"`
	Path     string              `json:"path" doc:"of the znode with which the work begins; of an import, where its root will be"`
	To       string              `json:"to" doc:"path of the copy"`
	Document *znodetext.Document `json:"document" doc:"what is imported"`
	Limits   *visible.Limits     `json:"limits" doc:"of the quota; all of them -1 removes it"`
	Seal     string              `json:"seal" doc:"of the plan that is confirmed"`
}

// Plan is what a work would do.
type Plan struct {
	Znodes     int       `json:"znodes" doc:"that would be created, deleted or set"`
	Bytes      int64     `json:"bytes" doc:"of their data"`
	Paths      []string  `json:"paths" doc:"of the first 100 of them"`
	Ephemerals []string  `json:"ephemerals" doc:"of the first 100 ephemeral ones: a delete takes them, a copy leaves them out"`
	Sessions   []string  `json:"sessions" doc:"which own these"`
	Refused    []Refused `json:"refused" doc:"why the work cannot be done; the first 100 reasons"`
	Batches    int       `json:"batches" doc:"multis that the work takes; with more than one it is not atomic"`
	Seal       string    `json:"seal" doc:"names this plan and the versions of all its znodes"`
}

// Refused is a reason against a plan.
type Refused struct {
	Path string `json:"path" doc:"of the znode"`
	Why  string `json:"why" doc:"what is in the way"`
}

// listed is how many paths and reasons a plan shows.
const listed = 100

// step is one operation of a multi.
type step struct {
	path string
	op   proto.OpCode
	req  record
	size int
}

// stepMore is how many bytes the txn of a step may have beyond its request.
const stepMore = 200

// planned is a plan with its steps. Owned by the goroutine that makes and carries it.
type planned struct {
	Plan
	steps   []step
	seal    strings.Builder
	scratch []byte
}

func (p *planned) refuse(path, why string) {
	if len(p.Refused) < listed {
		p.Refused = append(p.Refused, Refused{Path: path, Why: why})
	}
}

func (p *planned) add(path string, op proto.OpCode, req record, data int) {
	p.scratch = req.AppendTo(p.scratch[:0])
	p.steps = append(p.steps, step{path, op, req, len(p.scratch) + stepMore})
	p.Znodes++
	p.Bytes += int64(data)
	if len(p.Paths) < listed {
		p.Paths = append(p.Paths, path)
	}
	fmt.Fprintf(&p.seal, "%q %v\n", path, op)
}

// Plan says what a work would do. It changes nothing.
func (n *Changes) Plan(a visible.Actor, w Work) (*Plan, error) {
	p, err := n.plan(a, &w)
	if err != nil {
		return nil, err
	}
	return &p.Plan, nil
}

func (n *Changes) plan(a visible.Actor, w *Work) (*planned, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	p := &planned{Plan: Plan{Paths: []string{}, Ephemerals: []string{}, Sessions: []string{},
		Refused: []Refused{}}}
	if !paths.Valid([]byte(w.Path)) {
		return nil, proto.ErrBadArguments
	}
	fmt.Fprintf(&p.seal, "%q %q %q\n", w.Kind, w.Path, w.To)
	var err error
	switch w.Kind {
	case "delete":
		err = n.planDelete(a, p, w.Path)
	case "copy", "move":
		err = n.planCopy(a, p, w)
	case "import":
		err = n.planImport(a, p, w)
	case "quota":
		err = n.planQuota(a, p, w)
	default:
		err = refusal(http.StatusBadRequest, "kind is delete, copy, move, import or quota")
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(p.seal.String()))
	p.Seal = hex.EncodeToString(sum[:16])
	p.Batches = len(multis(p.steps, n.Config.JuteMaxBuffer))
	return p, nil
}

// look adds what a plan tells of a znode that is there, so that another state has another seal.
func (n *Changes) look(p *planned, it *visible.Item) {
	fmt.Fprintf(&p.seal, "%v %v %v %d %d\n", it.Node.Czxid, it.Node.Mzxid, it.Node.Pzxid, it.Node.Cversion,
		it.Node.Aversion)
	if !proto.IsSessionOwner(it.Node.Owner) {
		return
	}
	if len(p.Ephemerals) < listed {
		p.Ephemerals = append(p.Ephemerals, it.Path)
	}
	if label := n.front.Label(it.Node.Owner); !slices.Contains(p.Sessions, label) && len(p.Sessions) < listed {
		p.Sessions = append(p.Sessions, label)
	}
}

const blind = "it has children, and may not be read: they are not known"

func (n *Changes) planDelete(a visible.Actor, p *planned, path string) error {
	if path == "/" || path == "/zookeeper" || paths.Hidden([]byte(path)) {
		return refusal(http.StatusBadRequest, "the root and what is the servers' own is not deleted")
	}
	all, err := n.Subtree(a, path, false)
	if err != nil {
		return err
	}
	n.deletes(p, all)
	return nil
}

// deletes adds the deletes of a subtree, children first.
func (n *Changes) deletes(p *planned, all []visible.Item) {
	for _, it := range slices.Backward(all) {
		n.look(p, &it)
		switch {
		case !it.Deletable:
			p.refuse(it.Path, "the ACL of its parent does not allow to delete it")
		case !it.Readable && it.Node.NumChildren > 0:
			p.refuse(it.Path, blind)
		}
		p.add(it.Path, proto.OpDelete, &proto.DeleteRequest{Path: proto.Text(it.Path), Version: it.Node.Version}, 0)
	}
}

// checkPlace looks whether a subtree may be created at a path.
func (n *Changes) checkPlace(a visible.Actor, p *planned, path string) error {
	if !paths.Valid([]byte(path)) || path == "/" {
		return proto.ErrBadArguments
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	up := state.Lookup([]byte(paths.ParentOf(path)))
	switch {
	case state.Lookup([]byte(path)) != 0:
		p.refuse(path, "there is a znode with this path already")
	case up == 0:
		p.refuse(path, "its parent does not exist")
	case !n.Allows(state.Node(up).ACL, proto.PermCreate, a.IDs):
		p.refuse(path, "the ACL of its parent does not allow to create it")
	}
	return nil
}

func (n *Changes) planCopy(a visible.Actor, p *planned, w *Work) error {
	if w.To == w.Path || strings.HasPrefix(w.To, strings.TrimSuffix(w.Path, "/")+"/") {
		return refusal(http.StatusBadRequest, "a znode is not copied into itself")
	}
	if err := n.checkPlace(a, p, w.To); err != nil {
		return err
	}
	if w.Kind == "move" && (w.Path == "/zookeeper" || paths.Hidden([]byte(w.Path))) {
		return refusal(http.StatusBadRequest, "what is the servers' own is not moved")
	}
	all, err := n.Subtree(a, w.Path, true)
	if err != nil {
		return err
	}
	for i := range all {
		it := &all[i]
		if w.Kind == "copy" {
			n.look(p, it)
		}
		switch {
		case !it.Readable:
			p.refuse(it.Path, "it may not be read")
		case proto.IsSessionOwner(it.Node.Owner):
			if w.Kind == "move" {
				p.refuse(it.Path, "an ephemeral znode belongs to its session and cannot be moved")
			}
		case !it.MayAdmin && !visible.IsOpenACL(it.ACL):
			p.refuse(it.Path, "its ACL can be copied with the permission admin only")
		default:
			p.create(w.To+strings.TrimPrefix(it.Path, w.Path), it.Data, it.ACL, it.Node.Owner)
		}
	}
	if w.Kind == "move" {
		n.deletes(p, all)
	}
	return nil
}

// create adds a create. owner tells a container or a TTL.
func (p *planned) create(path string, data []byte, acl []proto.ACL, owner proto.SessionID) {
	if ttl, ok := proto.TTLOf(owner); ok {
		p.add(path, proto.OpCreateTTL, &proto.CreateTTLRequest{Path: proto.Text(path), Data: data, Acl: acl,
			Flags: int32(proto.ModePersistentTTL), Ttl: ttl}, len(data))
		return
	}
	op, mode := proto.OpCreate, proto.ModePersistent
	if owner == proto.OwnerContainer {
		op, mode = proto.OpCreateContainer, proto.ModeContainer
	}
	p.add(path, op, &proto.CreateRequest{Path: proto.Text(path), Data: data, Acl: acl, Flags: int32(mode)}, len(data))
}
