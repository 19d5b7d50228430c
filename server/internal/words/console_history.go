package words

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/past"
)

// historyLimits bound what one history reads and keeps. One is read at a time, and as long as it reads it rests.
var historyLimits = past.Limits{Bytes: 512 << 20, Time: 10 * time.Second, Versions: 200, Data: 16 << 20,
	Pace: pastPace}

// History implements api.Subtrees. A visitor sees a version if it may read the znode now, and might read it when the
// version was made. Where the files do not prove that, the permissions for a snapshot are needed.
func (n shown) History(ctx context.Context, a api.Actor, path string) (*api.History, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	all := len(a.IDs) > 0 && n.ownsRoot(a.IDs)
	n.Store.Mu.RLock()
	var node datatree.Node
	var acl []proto.ACL
	id := n.Store.State.Lookup([]byte(path))
	mayNow := id != 0 && n.allows(id, a.IDs)
	if id != 0 {
		node, acl = n.Store.State.Node(id), n.Store.State.ACLs().List(n.Store.State.Node(id).ACL)
	}
	n.Store.Mu.RUnlock()
	switch {
	case !all && id == 0:
		return nil, proto.ErrNoNode
	case !all && !mayNow:
		return nil, proto.ErrNoAuth
	}
	select {
	case n.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-n.reading }()
	h, err := past.Of(ctx, n.dirs(), path, historyLimits)
	if errors.Is(err, past.ErrLarge) {
		return nil, &api.Refusal{Status: http.StatusInsufficientStorage, Text: err.Error() + ": use warren wal dump"}
	}
	if err != nil {
		return nil, err
	}
	told := &api.History{Path: path, Versions: []api.Version{}, Cut: h.Cut}
	if h.From != 0 {
		told.From = h.From.String()
	}
	setLater := false // a version that is newer than the present one has set the ACL, or begun another znode
	for _, v := range h.Versions {
		isSame := id != 0 && v.Zxid >= node.Czxid
		if v.ACL == nil && isSame && (node.Aversion == 0 || v.Zxid >= h.From && !setLater) {
			v.ACL = acl
		}
		setLater = setLater || v.Kind == past.Permissions
		if !all && !mayRead(v.ACL, a.IDs) && !n.Config.SkipACL {
			told.Hidden++
			continue
		}
		one := api.Version{Kind: v.Kind.String(), Zxid: v.Zxid.String(), At: v.Time, Version: v.Version, Size: v.Size,
			HasData: v.HasData, Raw: v.Data}
		if v.Session != 0 {
			one.Session = n.front.Label(v.Session)
		}
		told.Versions = append(told.Versions, one)
	}
	return told, nil
}

// mayRead reports whether an ACL lets ids read. One that is not known does not.
func mayRead(acl []proto.ACL, ids []auth.Identity) bool {
	return slices.ContainsFunc(acl, func(e proto.ACL) bool { return auth.EntryAllows(&e, proto.PermRead, ids) })
}
