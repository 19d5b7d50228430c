package visible

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/past"
)

// History is what the log and the snapshots of one server tell of a znode.
type History struct {
	Path     string    `json:"path" doc:"of the znode"`
	Versions []Version `json:"versions" doc:"the newest first"`
	From     string    `json:"from" doc:"first txn that was looked at, hexadecimal; empty if there is none"`
	Cut      bool      `json:"cut" doc:"there are older files or versions that were not read"`
	Hidden   int       `json:"hidden" doc:"versions that the visitor may not see, or of which this is not certain"`
}

// Version is one change of a znode.
type Version struct {
	Kind    string `json:"kind" doc:"created, changed, deleted, permissions, or found: as a snapshot has it"`
	Zxid    string `json:"zxid" doc:"the txn, hexadecimal"`
	At      int64  `json:"at" doc:"clock of the leader, ms since 1970"`
	Session string `json:"session" doc:"that asked for it, as in sessions; empty if it is not known, or the servers' own"`
	Version int32  `json:"version" doc:"of the data; -1 if it is not known"`
	Size    int    `json:"size" doc:"bytes of the data"`
	HasData bool   `json:"hasData" doc:"its data is at hand, by version"`
	Raw     []byte `json:"-"`
}

// Find returns the version that a txn has made. A multi may have made several: the last one counts.
func (h *History) Find(zxid string) (at int, err error) {
	for i := range h.Versions {
		if h.Versions[i].Zxid == zxid {
			if !h.Versions[i].HasData {
				return i, refusal(http.StatusGone, "this version has no data that is still at hand")
			}
			return i, nil
		}
	}
	return 0, refusal(http.StatusNotFound, "the files of this server have no such version of the znode")
}

// historyLimits bound what one history reads and keeps. One is read at a time, and as long as it reads it rests.
var historyLimits = past.Limits{Bytes: 512 << 20, Time: 10 * time.Second, Versions: 200, Data: 16 << 20,
	Pace: pastPace}

// History returns what the files of this server tell of a znode. A visitor sees a version if it may read the znode
// now, and might read it when the version was made. Where the files do not prove that, the permissions for a snapshot
// are needed.
func (n *Shown) History(ctx context.Context, a Actor, path string) (*History, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	all := n.seesAll(a)
	n.Store.Mu.RLock()
	var node datatree.Node
	var acl []proto.ACL
	id := n.Store.State.Lookup([]byte(path))
	mayNow := id != 0 && n.MayRead(id, a.IDs)
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
	h, err := readLog(ctx, n, func() (*past.History, error) { return past.Of(ctx, n.dirs(), path, historyLimits) })
	if err != nil {
		return nil, err
	}
	told := &History{Path: path, Versions: []Version{}, Cut: h.Cut}
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
		one := Version{Kind: v.Kind.String(), Zxid: v.Zxid.String(), At: v.Time, Version: v.Version, Size: v.Size,
			HasData: v.HasData, Raw: v.Data}
		if v.Session != 0 {
			one.Session = n.front.Label(v.Session)
		}
		told.Versions = append(told.Versions, one)
	}
	return told, nil
}

// readLog reads a history when no other one is read.
func readLog[T any](ctx context.Context, n *Shown, read func() (*T, error)) (*T, error) {
	select {
	case n.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-n.reading }()
	found, err := read()
	if errors.Is(err, past.ErrLarge) {
		return nil, refusal(http.StatusInsufficientStorage, err.Error()+": use warren wal dump")
	}
	return found, err
}

// mayRead reports whether an ACL lets ids read. One that is not known does not.
func mayRead(acl []proto.ACL, ids []auth.Identity) bool {
	return slices.ContainsFunc(acl, func(e proto.ACL) bool { return auth.EntryAllows(&e, proto.PermRead, ids) })
}
