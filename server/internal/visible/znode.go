package visible

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
)

// Stat is the state of a znode beside its data.
type Stat struct {
	Czxid       string `json:"czxid" doc:"txn that created it"`
	Mzxid       string `json:"mzxid" doc:"txn that last set its data"`
	Pzxid       string `json:"pzxid" doc:"txn that last created or deleted a child"`
	Created     int64  `json:"created" doc:"ms since 1970"`
	Modified    int64  `json:"modified" doc:"ms since 1970"`
	Version     int32  `json:"version" doc:"number of changes of the data"`
	Cversion    int32  `json:"cversion" doc:"number of changes of the children"`
	Aversion    int32  `json:"aversion" doc:"number of changes of the ACL"`
	Owner       string `json:"owner" doc:"session of an ephemeral znode, as in sessions; empty for others"`
	DataLength  int32  `json:"dataLength" doc:"bytes"`
	NumChildren int32  `json:"numChildren" doc:"number of children"`
	Kind        string `json:"kind" doc:"persistent, ephemeral, container or ttl; empty where that is not known, as in the past"`
	TTLMs       int64  `json:"ttlMs" doc:"of kind ttl: without a change and without children for so long, the server deletes it"`
}

// Znode is a znode with its data.
type Znode struct {
	Path     string          `json:"path" doc:"of the znode"`
	Stat     Stat            `json:"stat" doc:"its state"`
	ACL      []znodetext.ACL `json:"acl" doc:"its ACL"`
	Encoding string          `json:"encoding" doc:"utf-8 or base64: how data is written here"`
	Data     *string         `json:"data" doc:"the data, or its beginning; null if there is none"`
	Whole    bool            `json:"whole" doc:"data is all of it"`
	Raw      []byte          `json:"-"`
}

// Encode sets Data and Encoding from Raw, which is nil for null.
func (z *Znode) Encode() {
	text, encoded := znodetext.Text(z.Raw)
	z.Encoding, z.Data = "utf-8", text
	if encoded != nil {
		z.Encoding, z.Data = "base64", encoded
	}
}

// Decode returns the data that a request has as text.
func Decode(encoding, text string) ([]byte, error) {
	switch encoding {
	case "", "utf-8":
		return []byte(text), nil
	case "base64":
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, refusal(http.StatusBadRequest, "data is not base64")
		}
		return data, nil
	}
	return nil, refusal(http.StatusBadRequest, "encoding is utf-8 or base64")
}

// Znode returns a znode with up to most bytes of its data. Errors are those of getData and getACL.
func (n *Shown) Znode(a Actor, path string, most int) (*Znode, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	var body, acl []byte
	var err proto.ErrCode
	n.Store.Mu.RLock()
	if body, err = n.Store.State.ReadData(nil, []byte(path), a.IDs); err == proto.OK {
		acl, err = n.Store.State.ReadACL(nil, []byte(path), a.IDs)
	}
	kind, ttl := "", int64(0)
	if id := n.Store.State.Lookup([]byte(path)); err == proto.OK && id != 0 {
		kind, ttl = kindOf(n.Store.State.Node(id).Owner)
	}
	n.Store.Mu.RUnlock()
	if err != proto.OK {
		return nil, err
	}
	var data proto.GetDataResponse
	var list proto.GetACLResponse
	if data.ReadFrom(body) != nil || list.ReadFrom(acl) != nil {
		return nil, proto.ErrMarshallingError // cannot happen: both were just written
	}
	z := &Znode{Path: path, Stat: n.stat(&data.Stat), Raw: data.Data, Whole: true,
		ACL: znodetext.ACLs(list.Acl)}
	z.Stat.Kind, z.Stat.TTLMs = kind, ttl
	if len(z.Raw) > most {
		z.Raw, z.Whole = z.Raw[:most], false
	}
	return z, nil
}

func (n *Shown) stat(st *proto.Stat) Stat {
	return Stat{Czxid: st.Czxid.String(), Mzxid: st.Mzxid.String(), Pzxid: st.Pzxid.String(), Created: st.Ctime,
		Modified: st.Mtime, Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion, Owner: n.owner(st),
		DataLength: st.DataLength, NumChildren: st.NumChildren}
}

// kindOf is the kind of a znode with an owner, and its time to live in ms if it has one.
func kindOf(owner proto.SessionID) (kind string, ttl int64) {
	if ttl, ok := proto.TTLOf(owner); ok {
		return znodetext.TTL, ttl
	}
	switch owner {
	case 0:
		return znodetext.Persistent, 0
	case proto.OwnerContainer:
		return znodetext.Container, 0
	}
	return znodetext.Ephemeral, 0
}

// owner names the session of an ephemeral znode.
func (n *Shown) owner(st *proto.Stat) string {
	if st.EphemeralOwner == 0 {
		return ""
	}
	return n.front.Label(st.EphemeralOwner)
}

// Children is a page of children.
type Children struct {
	Path     string  `json:"path" doc:"of the parent"`
	Total    int32   `json:"total" doc:"number of children"`
	Order    string  `json:"order" doc:"name, or creation if there are 2048 children or more"`
	Children []Child `json:"children" doc:"this page"`
	After    string  `json:"after" doc:"parameter after of the next page; empty if this is the last one"`
}

// Child is a child of a znode. Without the permission to read it, only its name is known.
type Child struct {
	Name     string `json:"name" doc:"last part of the path"`
	Readable bool   `json:"readable" doc:"the visitor may read it; if not, the other fields are empty"`
	Children int32  `json:"children" doc:"number of children"`
	Bytes    int32  `json:"bytes" doc:"length of its data"`
	Modified int64  `json:"modified" doc:"ms since 1970"`
	Version  int32  `json:"version" doc:"number of changes of the data"`
	Owner    string `json:"owner" doc:"session of an ephemeral znode; empty for others"`
	Kind     string `json:"kind" doc:"persistent, ephemeral, container or ttl"`
}

// Children returns a page of up to limit children that follow the child named after, "" for the first page. The
// children of a znode with few of them are in the order of their names. Those of a wide one are in the order of their
// creation, so that a page costs the same however many there are.
func (n *Shown) Children(a Actor, path, after string, limit int) (*Children, error) {
	if err := n.MayAsk(a); err != nil {
		return nil, err
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	parent, err := n.Readable(path, a.IDs)
	if err != nil {
		return nil, err
	}
	page := &Children{Path: path, Total: state.Node(parent).NumChildren, Order: "name", Children: []Child{}}
	var ids []datatree.NodeID
	if page.Total < datatree.WideChildren {
		ids = namedAfter(state, parent, after)
	} else {
		page.Order = "creation"
		first := state.FirstChild(parent)
		if after != "" {
			last := state.Child(parent, []byte(after))
			if last == 0 {
				return nil, errGone
			}
			first = state.NextSibling(last)
		}
		for id := first; id != 0 && len(ids) <= limit; id = state.NextSibling(id) {
			ids = append(ids, id)
		}
	}
	for _, id := range page.cut(state, ids, limit) {
		page.Children = append(page.Children, n.child(state, id, n.MayRead(id, a.IDs)))
	}
	return page, nil
}

// cut keeps the first limit of the children, and notes where the next page begins.
func (c *Children) cut(state *datatree.State, ids []datatree.NodeID, limit int) []datatree.NodeID {
	if len(ids) <= limit {
		return ids
	}
	c.After = string(state.Name(ids[limit-1]))
	return ids[:limit]
}

// namedAfter returns the children of a znode whose names are greater, in their order. It looks at all children.
func namedAfter(state *datatree.State, parent datatree.NodeID, after string) (ids []datatree.NodeID) {
	state.EachChild(parent, func(id datatree.NodeID) bool {
		if string(state.Name(id)) > after {
			ids = append(ids, id)
		}
		return true
	})
	slices.SortFunc(ids, func(a, b datatree.NodeID) int { return bytes.Compare(state.Name(a), state.Name(b)) })
	return ids
}

// child describes a child. REQUIRES: the lock of the state, at least for reading.
func (n *Shown) child(state *datatree.State, id datatree.NodeID, readable bool) Child {
	c := Child{Name: string(state.Name(id)), Readable: readable}
	if readable {
		st := state.Stat(id)
		c.Children, c.Bytes, c.Modified, c.Version, c.Owner = st.NumChildren, st.DataLength, st.Mtime, st.Version,
			n.owner(&st)
		c.Kind, _ = kindOf(state.Node(id).Owner)
	}
	return c
}
