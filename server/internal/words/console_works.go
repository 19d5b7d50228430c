package words

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/inside"
)

// Works of the console: changes of many znodes. A plan is made from the tree, Store.Mu held for reading for a few
// znodes at a time. A work makes the plan again, compares the seals, and goes through a session as multis, in which
// each delete names the version that the plan has seen, and fails if the znode has children that the plan has not. So
// a work of one multi does what was shown, or nothing.

// Bounds of a work.
const (
	worksMax      = 10_000   // znodes
	worksBytesMax = 16 << 20 // bytes of data and paths
	itemsPerLock  = 256      // znodes under one hold of Store.Mu
	stepsPerMulti = 1000
	listed        = 100 // paths and reasons that a plan shows
)

// item is a znode of a subtree.
type item struct {
	path     string
	node     datatree.Node
	data     []byte
	acl      []proto.ACL
	readable bool
	admin    bool // the ACL may be copied as it is
	goes     bool // the parent lets the visitor delete it
}

// step is one operation of a multi.
type step struct {
	path string
	op   proto.OpCode
	req  request
	size int
}

// planned is a plan with its steps.
type planned struct {
	api.Plan
	steps []step
	seal  strings.Builder
}

func (p *planned) refuse(path, why string) {
	if len(p.Refused) < listed {
		p.Refused = append(p.Refused, api.Refused{Path: path, Why: why})
	}
}

func (p *planned) add(path string, op proto.OpCode, req request, data int) {
	p.steps = append(p.steps, step{path, op, req, len(path) + data + 200})
	p.Znodes++
	p.Bytes += int64(data)
	if len(p.Paths) < listed {
		p.Paths = append(p.Paths, path)
	}
	fmt.Fprintf(&p.seal, "%q %v\n", path, op)
}

func errTooMany() error {
	return &api.Refusal{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf(
		"the subtree has more than %d znodes, or more than %d MiB: use warren shell", worksMax, worksBytesMax>>20)}
}

// items lists the znodes at and below a path, parents first. The children of a znode that may not be read are not
// listed.
func (n shown) items(a api.Actor, root string, withData bool) (all []item, err error) {
	names, size := []string{root}, 0
	for len(names) > 0 {
		part := names[:min(len(names), itemsPerLock)]
		names = names[len(part):]
		if err := func() error {
			n.Store.Mu.RLock()
			defer n.Store.Mu.RUnlock()
			state := n.Store.State
			for _, path := range part {
				id := state.Lookup([]byte(path))
				if id == 0 && len(all) == 0 {
					return proto.ErrNoNode
				}
				if id == 0 {
					continue // gone since its parent was read
				}
				it := n.item(a.IDs, id, path, withData)
				all, size = append(all, it), size+len(path)+len(it.data)
				if it.readable {
					state.EachChild(id, func(child datatree.NodeID) bool {
						names = append(names, paths.ChildOf(path, string(state.Name(child))))
						return len(names)+len(all) <= worksMax
					})
				}
				if len(names)+len(all) > worksMax || size > worksBytesMax {
					return errTooMany()
				}
			}
			return nil
		}(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// item describes a znode. REQUIRES: Store.Mu, at least for reading.
func (n shown) item(ids []auth.Identity, id datatree.NodeID, path string, withData bool) item {
	state := n.Store.State
	it := item{path: path, node: state.Node(id)}
	it.readable = n.allows(id, ids)
	it.admin = n.Allows(it.node.ACL, proto.PermAdmin, ids)
	if up := state.Parent(id); up != 0 {
		it.goes = n.Allows(state.Node(up).ACL, proto.PermDelete, ids)
	}
	if it.readable && withData {
		it.acl = slices.Clone(state.ACLs().List(it.node.ACL))
		if data := state.Data(id); data != nil {
			it.data = append([]byte{}, data...)
		}
	}
	return it
}

// Plan implements api.Subtrees.
func (n shown) Plan(a api.Actor, w api.Work) (*api.Plan, error) {
	p, err := n.plan(a, &w)
	if err != nil {
		return nil, err
	}
	return &p.Plan, nil
}

func (n shown) plan(a api.Actor, w *api.Work) (*planned, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	p := &planned{Plan: api.Plan{Paths: []string{}, Ephemerals: []string{}, Sessions: []string{},
		Refused: []api.Refused{}}}
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
		err = &api.Refusal{Status: http.StatusBadRequest, Text: "kind is delete, copy, move, import or quota"}
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(p.seal.String()))
	p.Seal = hex.EncodeToString(sum[:16])
	p.Batches = len(n.multis(p.steps))
	return p, nil
}

// look adds what a plan tells of a znode that is there, so that another state has another seal.
func (n shown) look(p *planned, it *item) {
	fmt.Fprintf(&p.seal, "%v %v %v %d %d\n", it.node.Czxid, it.node.Mzxid, it.node.Pzxid, it.node.Cversion,
		it.node.Aversion)
	if !proto.IsSessionOwner(it.node.Owner) {
		return
	}
	if len(p.Ephemerals) < listed {
		p.Ephemerals = append(p.Ephemerals, it.path)
	}
	if label := n.front.Label(it.node.Owner); !slices.Contains(p.Sessions, label) && len(p.Sessions) < listed {
		p.Sessions = append(p.Sessions, label)
	}
}

const blind = "it has children, and may not be read: they are not known"

func (n shown) planDelete(a api.Actor, p *planned, path string) error {
	if path == "/" || path == "/zookeeper" || paths.Hidden([]byte(path)) {
		return &api.Refusal{Status: http.StatusBadRequest,
			Text: "the root and what is the servers' own is not deleted"}
	}
	all, err := n.items(a, path, false)
	if err != nil {
		return err
	}
	n.deletes(p, all)
	return nil
}

// deletes adds the deletes of a subtree, children first.
func (n shown) deletes(p *planned, all []item) {
	for _, it := range slices.Backward(all) {
		n.look(p, &it)
		switch {
		case !it.goes:
			p.refuse(it.path, "the ACL of its parent does not allow to delete it")
		case !it.readable && it.node.NumChildren > 0:
			p.refuse(it.path, blind)
		}
		p.add(it.path, proto.OpDelete, &proto.DeleteRequest{Path: proto.Text(it.path), Version: it.node.Version}, 0)
	}
}

// checkPlace looks whether a subtree may be created at a path.
func (n shown) checkPlace(a api.Actor, p *planned, path string) error {
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

func (n shown) planCopy(a api.Actor, p *planned, w *api.Work) error {
	if w.To == w.Path || strings.HasPrefix(w.To, strings.TrimSuffix(w.Path, "/")+"/") {
		return &api.Refusal{Status: http.StatusBadRequest, Text: "a znode is not copied into itself"}
	}
	if err := n.checkPlace(a, p, w.To); err != nil {
		return err
	}
	if w.Kind == "move" && (w.Path == "/zookeeper" || paths.Hidden([]byte(w.Path))) {
		return &api.Refusal{Status: http.StatusBadRequest, Text: "what is the servers' own is not moved"}
	}
	all, err := n.items(a, w.Path, true)
	if err != nil {
		return err
	}
	for i := range all {
		it := &all[i]
		if w.Kind == "copy" {
			n.look(p, it)
		}
		switch {
		case !it.readable:
			p.refuse(it.path, "it may not be read")
		case proto.IsSessionOwner(it.node.Owner):
			if w.Kind == "move" {
				p.refuse(it.path, "an ephemeral znode belongs to its session and cannot be moved")
			}
		case !it.admin && !isOpenACL(it.acl):
			p.refuse(it.path, "its ACL can be copied with the permission admin only")
		default:
			p.create(w.To+strings.TrimPrefix(it.path, w.Path), it.data, it.acl, it.node.Owner)
		}
	}
	if w.Kind == "move" {
		n.deletes(p, all)
	}
	return nil
}

// isOpenACL reports whether an ACL is the one that clients take if they name none.
func isOpenACL(list []proto.ACL) bool {
	return len(list) == 1 && list[0].Perms == proto.PermAll && list[0].Id.Scheme.String() == auth.SchemeWorld
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

func (n shown) planImport(a api.Actor, p *planned, w *api.Work) error {
	d := w.Document
	if err := d.Check(worksMax); err != nil {
		return err
	}
	if err := n.checkPlace(a, p, w.Path); err != nil {
		return err
	}
	for i := range d.Znodes {
		z := &d.Znodes[i]
		path := w.Path + z.Path
		if !paths.Valid([]byte(path)) {
			return proto.ErrBadArguments
		}
		data, err := z.Content()
		if err != nil {
			return err
		}
		acl, err := aclOf(&api.Change{Kind: api.ChangeCreate, ACL: z.ACL})
		if err != nil {
			return err
		}
		owner := proto.SessionID(0)
		switch z.Kind {
		case "container":
			owner = proto.OwnerContainer
		case "ttl":
			owner = proto.TTLOwner(z.TTL)
		}
		p.create(path, data, acl, owner)
		fmt.Fprintf(&p.seal, "%x %q\n", sha256.Sum256(data), z.ACL)
	}
	return nil
}

// Export implements api.Subtrees. A znode with an ACL that the visitor may not see whole is left out with what is
// below it, as the shell refuses it.
func (n shown) Export(a api.Actor, path string) (*api.Document, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	all, err := n.items(a, path, true)
	if err != nil {
		return nil, err
	}
	if !all[0].readable {
		return nil, proto.ErrNoAuth
	}
	d := &api.Document{Version: 1, Root: path, Znodes: []api.DocumentZnode{}}
	for i := range all {
		it := &all[i]
		if proto.IsSessionOwner(it.node.Owner) {
			continue
		}
		if !it.readable || !it.admin && !isOpenACL(it.acl) {
			return nil, &api.Refusal{Status: http.StatusForbidden,
				Text: "the ACL of a znode of the subtree does not allow to export it: " + it.path}
		}
		z := api.DocumentZnode{Path: it.path[len(strings.TrimSuffix(path, "/")):]}
		if it.path == "/" {
			z.Path = ""
		}
		z.SetContent(it.data)
		ttl, isTTL := proto.TTLOf(it.node.Owner)
		switch {
		case isTTL:
			z.Kind, z.TTL = "ttl", ttl
		case it.node.Owner == proto.OwnerContainer:
			z.Kind = "container"
		}
		if !isOpenACL(it.acl) {
			for _, e := range it.acl {
				z.ACL = append(z.ACL,
					api.ACL{Scheme: e.Id.Scheme.String(), ID: e.Id.Id.String(), Perms: api.PermText(e.Perms)})
			}
		}
		d.Znodes = append(d.Znodes, z)
	}
	return d, nil
}

// Quota implements api.Subtrees.
func (n shown) Quota(a api.Actor, path string) (*api.Quota, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	switch id := state.Lookup([]byte(path)); {
	case id == 0:
		return nil, proto.ErrNoNode
	case !n.allows(id, a.IDs):
		return nil, proto.ErrNoAuth
	}
	limits, used := quota.None(), quota.None()
	at := quota.Root + strings.TrimSuffix(path, "/") + "/"
	if id := state.Lookup([]byte(at + quota.LimitsName)); id != 0 && n.allows(id, a.IDs) {
		limits = quota.Parse(state.Data(id))
		if id := state.Lookup([]byte(at + quota.StatsName)); id != 0 {
			used = quota.Parse(state.Data(id))
		}
	}
	return &api.Quota{Limits: api.Limits(limits), UsedCount: used.Count, UsedBytes: used.Bytes,
		Enforced: n.Config.EnforceQuota}, nil
}

// planQuota plans the znodes of a quota, as setquota and delquota of the shell write them.
func (n shown) planQuota(a api.Actor, p *planned, w *api.Work) error {
	l := w.Limits
	if l == nil || w.Path == "/" || w.Path == "/zookeeper" || paths.Hidden([]byte(w.Path)) {
		return &api.Refusal{Status: http.StatusBadRequest,
			Text: "limits, and the path of a znode of an application, are needed"}
	}
	for _, limit := range []int64{l.Count, l.Bytes, l.CountHard, l.BytesHard} {
		if limit < -1 || limit == 0 && (limit == l.Count || limit == l.CountHard) {
			return &api.Refusal{Status: http.StatusBadRequest, Text: "a limit is a positive number, or -1 for none"}
		}
	}
	at := quota.Root + w.Path
	text := fmt.Appendf(nil, "count=%d,bytes=%d=;byteHardLimit=%d;countHardLimit=%d", l.Count, l.Bytes, l.BytesHard,
		l.CountHard)
	below, err := n.items(a, at, false)
	if err != nil && err != proto.ErrNoNode {
		return err
	}
	for i := range below {
		if paths.NameOf(below[i].path) == quota.LimitsName && paths.ParentOf(below[i].path) != at {
			p.refuse(strings.TrimPrefix(paths.ParentOf(below[i].path), quota.Root), "it has a quota of its own")
		}
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	if id := state.Lookup([]byte(w.Path)); id == 0 {
		return proto.ErrNoNode
	} else if !n.allows(id, a.IDs) {
		return proto.ErrNoAuth
	}
	for up := paths.ParentOf(w.Path); up != "/"; up = paths.ParentOf(up) {
		if state.Lookup([]byte(quota.Root+up+"/"+quota.LimitsName)) != 0 {
			p.refuse(up, "it has a quota, in which this znode is")
		}
	}
	open, _ := aclOf(&api.Change{Kind: api.ChangeCreate})
	limits := state.Lookup([]byte(at + "/" + quota.LimitsName))
	fmt.Fprintf(&p.seal, "%d %s\n", limits, text)
	isNone := *l == api.Limits(quota.None())
	switch {
	case isNone && limits == 0:
		p.refuse(w.Path, "it has no quota")
	case isNone:
		for _, name := range []string{quota.LimitsName, quota.StatsName} {
			if state.Lookup([]byte(at+"/"+name)) != 0 {
				p.add(at+"/"+name, proto.OpDelete,
					&proto.DeleteRequest{Path: proto.Text(at + "/" + name), Version: -1}, 0)
			}
		}
		own := int32(2)
		for up := at; up != quota.Root; up = paths.ParentOf(up) { // what is empty then goes too
			if state.Node(state.Lookup([]byte(up))).NumChildren != own {
				break
			}
			p.add(up, proto.OpDelete, &proto.DeleteRequest{Path: proto.Text(up), Version: -1}, 0)
			own = 1
		}
	case limits != 0:
		p.add(at+"/"+quota.LimitsName, proto.OpSetData, &proto.SetDataRequest{
			Path: proto.Text(at + "/" + quota.LimitsName), Data: text, Version: state.Node(limits).Version}, len(text))
	default:
		for i := len(quota.Root) + 1; i <= len(at); i++ {
			if (i == len(at) || at[i] == '/') && state.Lookup([]byte(at[:i])) == 0 {
				p.create(at[:i], nil, open, 0)
			}
		}
		p.create(at+"/"+quota.LimitsName, text, open, 0)
		if state.Lookup([]byte(at+"/"+quota.StatsName)) == 0 {
			p.create(at+"/"+quota.StatsName, []byte("count=0,bytes=0"), open, 0)
		}
	}
	return nil
}

// multis cuts steps into multis that the server takes.
func (n shown) multis(steps []step) (all [][]step) {
	most, size, from := n.Config.JuteMaxBuffer*3/4, 0, 0
	for i, s := range steps {
		if i > from && (i-from == stepsPerMulti || size+s.size > most) {
			all, from, size = append(all, steps[from:i]), i, 0
		}
		size += s.size
	}
	if from < len(steps) {
		all = append(all, steps[from:])
	}
	return all
}

// multi is a request of several operations.
type multi []step

// AppendTo implements request.
func (m multi) AppendTo(b []byte) []byte {
	for _, s := range m {
		b = s.req.AppendTo(proto.AppendMultiOp(b, s.op))
	}
	return proto.AppendMultiEnd(b)
}

// multiError returns which operation of a multi was refused, if one was.
func multiError(reply []byte, m multi) (string, error) {
	r := proto.NewMultiReader(reply)
	for i := 0; ; i++ {
		h, ok := r.Next()
		if !ok {
			return "", nil
		}
		if h.Type != -1 {
			return "", nil // the first slot of a multi that was refused is an error, too
		}
		code := proto.ErrCode(r.R.Int32())
		if code != proto.OK && code != proto.ErrRuntimeInconsistency && i < len(m) {
			return m[i].path, code
		}
	}
}

// Carry implements api.Subtrees.
func (n shown) Carry(ctx context.Context, a api.Actor, w api.Work, seal string) (*api.Carried, error) {
	p, err := n.plan(a, &w)
	switch {
	case err != nil:
		return nil, err
	case p.Seal != seal:
		return nil, api.ErrChanged
	case len(p.Refused) > 0:
		return nil, &api.Refusal{Status: http.StatusForbidden,
			Text: "nothing was done: " + p.Refused[0].Path + ": " + p.Refused[0].Why}
	}
	s, err := n.open(a)
	if err != nil {
		return nil, sayUnavailable(err)
	}
	defer s.Close()
	done := &api.Carried{}
	for _, m := range n.multis(p.steps) {
		if err = ctx.Err(); err == nil {
			err = n.send(s, m)
		}
		if err != nil {
			t := api.TroubleOf(err)
			t.Detail = fmt.Sprintf("%d of %d znodes were changed before: %s", done.Znodes, p.Znodes, t.Detail)
			return nil, &api.Refusal{Status: t.Status, Text: t.Detail}
		}
		done.Znodes += len(m)
	}
	return done, nil
}

func (n shown) send(s *inside.Session, m multi) error {
	reply, err := s.Do(proto.OpMulti, m, patience)
	if err != nil {
		return sayUnavailable(err)
	}
	if path, err := multiError(reply, m); err != nil {
		t := api.TroubleOf(err)
		return &api.Refusal{Status: t.Status, Text: path + ": " + t.Detail}
	}
	return nil
}
