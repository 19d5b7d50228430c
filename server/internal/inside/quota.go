package inside

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/internal/visible"
)

// planQuota plans the znodes of a quota, as setquota and delquota of the shell write them.
func (n *Changes) planQuota(a visible.Actor, p *planned, w *Work) error {
	l := w.Limits
	if l == nil || w.Path == "/" || w.Path == "/zookeeper" || paths.Hidden([]byte(w.Path)) {
		return refusal(http.StatusBadRequest, "limits, and the path of a znode of an application, are needed")
	}
	for _, limit := range []int64{l.Count, l.Bytes, l.CountHard, l.BytesHard} {
		if limit < -1 || limit == 0 && (limit == l.Count || limit == l.CountHard) {
			return refusal(http.StatusBadRequest, "a limit is a positive number, or -1 for none")
		}
	}
	at := quota.Root + w.Path
	text := quota.AppendLimits(nil, quota.Limits(*l))
	below, err := n.Subtree(a, at, false)
	if err != nil && err != proto.ErrNoNode {
		return err
	}
	for i := range below {
		if paths.NameOf(below[i].Path) == quota.LimitsName && paths.ParentOf(below[i].Path) != at {
			p.refuse(strings.TrimPrefix(paths.ParentOf(below[i].Path), quota.Root), "it has a quota of its own")
		}
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	if _, err := n.Readable(w.Path, a.IDs); err != nil {
		return err
	}
	for up := paths.ParentOf(w.Path); up != "/"; up = paths.ParentOf(up) {
		if state.Lookup([]byte(quota.Root+up+"/"+quota.LimitsName)) != 0 {
			p.refuse(up, "it has a quota, in which this znode is")
		}
	}
	open, _ := aclOf(&Change{Kind: ChangeCreate})
	limits := state.Lookup([]byte(at + "/" + quota.LimitsName))
	fmt.Fprintf(&p.seal, "%d %s\n", limits, text)
	isNone := *l == visible.Limits(quota.None())
	switch {
	case isNone && limits == 0:
		p.refuse(w.Path, "it has no quota")
	case isNone:
		own := int32(0) // children that go: what has no others goes too
		for _, name := range []string{quota.LimitsName, quota.StatsName} {
			if state.Lookup([]byte(at+"/"+name)) != 0 {
				own++
				p.add(at+"/"+name, proto.OpDelete,
					&proto.DeleteRequest{Path: proto.Text(at + "/" + name), Version: -1}, 0)
			}
		}
		for up := at; up != quota.Root; up = paths.ParentOf(up) {
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
			p.create(at+"/"+quota.StatsName, quota.AppendStats(nil, quota.Limits{}), open, 0)
		}
	}
	return nil
}
