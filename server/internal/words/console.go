package words

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/console"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/inside"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/trends"
	"github.com/seed94657493/warren/zab"
)

// shown is a server as the API shows it. Requests come at any time, even before recovery, when there is no tree.
type shown struct {
	*Reporter
	counts  *counts
	past    *travel
	reading chan struct{} // the place of the one reading of the log for a history
	trends  *trends.Ring
	others  *neighbours
}

var _ api.Server = shown{}

// consoleHandler returns what the admin server serves at /, /console/ and /api/v1; nil if that is switched off.
func (s *Reporter) consoleHandler() http.Handler {
	if !s.Config.Admin.Console {
		return nil
	}
	n := shown{s, &counts{}, &travel{}, make(chan struct{}, 1), newTrends(), &neighbours{}}
	s.Spawn("trends", n.keepTrends)
	a := api.New(api.Options{
		Server: n, Orders: s.orders, Log: s.Log,
		Guesses: s.front.Guesses, Now: s.Runtime.Now,
		Writes: s.Config.Admin.ConsoleWrites, Links: s.Config.Admin.ConsoleLinks,
		Ensembles:  s.Config.Admin.ConsoleEnsembles,
		RequestMax: s.Config.JuteMaxBuffer,
		Remote:     func(r *http.Request) netip.Addr { return admin.Remote(r, s.Config.IPUseXForwardedFor) }})
	return console.New(a)
}

func (n shown) Ensemble() *api.Ensemble {
	e := &api.Ensemble{State: n.host.Mode(), Serving: n.IsServing(), Version: n.Version,
		UptimeMs: time.Since(n.Began).Milliseconds(), Connections: n.front.Conns.Len(),
		Outstanding: n.InProcess.Load(), Members: []api.Member{}, Problems: []api.Problem{}}
	if n.Config.Distributed() {
		e.ServerID = int64(n.host.ID)
	}
	least, mean, most := n.Env.Stats.Latency()
	e.Latency = api.Latency{Min: least, Mean: mean, Max: most}
	if n.Doors.IsOpen() {
		n.addTree(e)
	}
	if role, ok := n.Role(); ok {
		n.addMembers(e, &role)
	}
	for _, f := range n.findings(e) {
		e.Problems = append(e.Problems,
			api.Problem{Severity: f.Severity.String(), Check: f.Check, Text: f.What, Remedy: f.Remedy})
	}
	return e
}

// addTree adds what is known of the tree. REQUIRES: the server has recovered.
func (n shown) addTree(e *api.Ensemble) {
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	last := state.LastZxid()
	e.Zxid, e.Epoch = last.String(), last.Epoch()
	e.Znodes, e.Ephemerals, e.DataBytes, e.Sessions = state.NumNodes(), state.NumEphemerals(), state.DataSize(),
		state.NumSessions()
	e.Watches = n.front.CountWatches()
}

// addMembers adds the servers of the configuration.
func (n shown) addMembers(e *api.Ensemble, r *host.QuorumRole) {
	if r.Leader >= 0 && !r.ReadOnly {
		leader := int64(r.Leader)
		e.Leader = &leader
	}
	learners := map[int64]zab.Learner{}
	if r.Leading {
		for _, l := range r.Others {
			learners[int64(l.Peer)] = l
		}
	}
	q := n.Membership()
	for i := range q.Members {
		m := n.member(e, &q.Members[i])
		if l, ok := learners[m.ID]; ok && !m.Self {
			n.addLearner(&m, &l)
		} else if r.Leading && !m.Self {
			m.State = "absent"
		}
		e.Members = append(e.Members, m)
	}
}

// member is a server of the configuration, as this server knows it without being the leader.
func (n shown) member(e *api.Ensemble, line *config.Member) api.Member {
	d := describeMember(line)
	m := api.Member{ID: line.ID, Role: line.Role.String(), State: "unknown", Self: line.ID == e.ServerID,
		Addresses: d.ServerAddresses, ClientAddress: d.ClientAddress}
	switch {
	case m.Self:
		m.State, m.Zxid, m.Lag = e.State, e.Zxid, new(int64)
	case e.Leader != nil && *e.Leader == m.ID:
		m.State = "leader"
	}
	return m
}

// addLearner adds what the leader knows of a learner.
func (n shown) addLearner(m *api.Member, l *zab.Learner) {
	last, there := n.Store.LastZxid(), l.Acked
	m.State = "follower"
	if l.Observer {
		m.State, there = "observer", l.Sent
	}
	if !l.Synced {
		m.State = "joining"
	}
	if there == 0 {
		return
	}
	m.Zxid = there.String()
	if there.Epoch() == last.Epoch() {
		lag := max(0, int64(last)-int64(there))
		m.Lag = &lag
	}
}

func (n shown) Login(user, password string) ([]auth.Identity, error) {
	if !n.IsServing() {
		return nil, api.ErrNotServing
	}
	ids, ok := n.front.Authenticate(netip.Addr{}, auth.SchemeDigest, []byte(user+":"+password))
	if !ok || !auth.IsSuper(ids) && !n.isNamed(ids) {
		n.Metrics.AuthFailed.Inc()
		return nil, api.ErrWrong
	}
	return ids, nil
}

// DigestID implements api.Server.
func (n shown) DigestID(user, password string) (string, error) {
	id, ok := auth.DigestID(n.Config.DigestAlg, []byte(user+":"+password))
	if !ok {
		return "", fmt.Errorf("there is no hash %q, which DigestAuthenticationProvider.digestAlg asks for",
			n.Config.DigestAlg)
	}
	return id, nil
}

// listsPerLock is how many ACL lists are searched under one hold of the lock.
const listsPerLock = 1000

// isNamed reports whether an ACL names one of ids. ZooKeeper takes every user with every password, because an identity
// without an ACL opens nothing; here that is taken for a wrong password.
func (s *Reporter) isNamed(ids []auth.Identity) (found bool) {
	for from := 0; !found; {
		s.Store.Mu.RLock()
		found, from = s.Store.State.ACLs().Mentions(ids, from, listsPerLock)
		s.Store.Mu.RUnlock()
		if from == 0 {
			break
		}
	}
	return found
}

func (n shown) Settings() (all []api.Setting) {
	for _, e := range n.Config.Entries() {
		all = append(all, api.Setting(e))
	}
	return all
}

// MaySteer implements api.Server.
func (n shown) MaySteer(a api.Actor) error {
	if err := n.mayAsk(a); err != nil {
		return err
	}
	if len(a.IDs) == 0 || !n.ownsRoot(a.IDs) {
		return api.ErrMayNotSteer
	}
	return nil
}

// mayAsk returns why a visitor may read nothing now.
func (n shown) mayAsk(a api.Actor) error {
	switch {
	case !n.IsServing():
		return api.ErrNotServing
	case !n.front.Suffices(a.IDs):
		return api.ErrNeedsAuth
	}
	return nil
}

// Sessions implements api.Server. The locks of connections and of the tree are held for one connection at a time.
func (n shown) Sessions(a api.Actor, after uint64, limit int) (*api.Sessions, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	page := &api.Sessions{Sessions: []api.Session{}}
	n.Store.Mu.RLock()
	page.Total = n.Store.State.NumSessions()
	n.Store.Mu.RUnlock()
	last := uint64(0)
	n.front.Conns.Each(func(c *serve.Conn) {
		if c.Number() <= after || page.After != 0 || c.Session.Load() == nil {
			return
		}
		if len(page.Sessions) == limit {
			page.After = last
			return
		}
		page.Sessions, last = append(page.Sessions, n.session(c, a)), c.Number()
	})
	return page, nil
}

// pathsShown is how many ephemerals of a session are listed.
const pathsShown = 100

func (n shown) session(c *serve.Conn, a api.Actor) api.Session {
	v := c.View()
	st := &v.Stats
	one := api.Session{Label: n.front.Label(v.Session.ID), Address: c.Remote.String(),
		Connected: c.Established.UnixMilli(), TimeoutMs: v.Session.TimeoutMs(),
		Secure: c.SecurePort, Received: st.Received, Sent: st.Sent,
		Outstanding: v.Queued, LastOp: opWord(st.LastOp, st.AnsweredTotal),
		MeanMs: st.LatencySum / max(st.AnsweredTotal, 1), MaxMs: st.MaxLatency, Watches: n.front.WatchedPaths(c),
		Paths: []string{}}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	one.Ephemerals, one.Paths = n.ephemerals(v.Session.ID, a.IDs)
	return one
}

// sessionTimeout is the timeout of a session that the console opens for a change or a stream; patience is how long the
// server may take for it, or for the change.
const (
	sessionTimeout = 30 * time.Second
	patience       = 20 * time.Second
)

// open begins a session with the identities of a visitor.
func (n shown) open(a api.Actor) (*inside.Session, error) {
	if err := n.mayAsk(a); err != nil {
		return nil, err
	}
	nc, err := n.front.Connect(a.Remote, a.IDs)
	if err != nil {
		return nil, inside.ErrRefused
	}
	return inside.Open(nc, sessionTimeout, patience)
}

// Change implements api.Server. It goes through a session of its own, so that everything holds that holds for clients.
func (n shown) Change(_ context.Context, a api.Actor, c api.Change) (string, error) {
	op, req, err := requestOf(&c)
	if err != nil {
		return "", err
	}
	s, err := n.open(a)
	if err != nil {
		return "", sayUnavailable(err)
	}
	defer s.Close()
	reply, err := s.Do(op, req, patience)
	if err != nil {
		return "", sayUnavailable(err)
	}
	if c.Kind == api.ChangeCreate {
		var made proto.Create2Response
		if err := made.ReadFrom(reply); err != nil {
			return "", fmt.Errorf("the answer cannot be read: %w", err)
		}
		return made.Path.String(), nil
	}
	return c.Path, nil
}

// sayUnavailable gives errors of package inside the status of a server that cannot answer now.
func sayUnavailable(err error) error {
	if err == inside.ErrRefused || err == inside.ErrUnknown {
		return &api.Refusal{Status: http.StatusServiceUnavailable, Text: err.Error()}
	}
	return err
}

// request is a record of the protocol.
type request interface{ AppendTo(b []byte) []byte }

// requestOf is a change in the protocol of clients.
func requestOf(c *api.Change) (proto.OpCode, request, error) {
	path := proto.Text(c.Path)
	if paths.FaultAt(path, c.Sequential) >= 0 {
		return 0, nil, proto.ErrBadArguments
	}
	acl, err := aclOf(c)
	if err != nil {
		return 0, nil, err
	}
	switch c.Kind {
	case api.ChangeCreate:
		mode, op := proto.ModePersistent, proto.OpCreate2
		switch {
		case c.TTL != 0 && (c.Container || c.TTL < 1 || c.TTL > proto.MaxTTL):
			return 0, nil, &api.Refusal{Status: http.StatusBadRequest,
				Text: "a TTL is 1 to 1099511627775 ms, and not of a container"}
		case c.TTL != 0:
			mode = proto.ModePersistentTTL
			if c.Sequential {
				mode = proto.ModePersistentSequentialTTL
			}
			return proto.OpCreateTTL, &proto.CreateTTLRequest{Path: path, Data: c.Data, Acl: acl, Flags: int32(mode),
				Ttl: c.TTL}, nil
		case c.Sequential && c.Container:
			return 0, nil, &api.Refusal{Status: http.StatusBadRequest, Text: "a container is not sequential"}
		case c.Sequential:
			mode = proto.ModePersistentSequential
		case c.Container:
			mode, op = proto.ModeContainer, proto.OpCreateContainer
		}
		return op, &proto.CreateRequest{Path: path, Data: c.Data, Acl: acl, Flags: int32(mode)}, nil
	case api.ChangeData:
		return proto.OpSetData, &proto.SetDataRequest{Path: path, Data: c.Data, Version: c.Version}, nil
	case api.ChangeDelete:
		return proto.OpDelete, &proto.DeleteRequest{Path: path, Version: c.Version}, nil
	}
	return proto.OpSetACL, &proto.SetACLRequest{Path: path, Acl: acl, Version: c.Version}, nil
}

// aclOf is the ACL of a change in the protocol of clients. The server checks its schemes and ids.
func aclOf(c *api.Change) (list []proto.ACL, err error) {
	switch {
	case c.Kind != api.ChangeCreate && c.Kind != api.ChangeACL:
		return nil, nil
	case c.ACL == nil && c.Kind == api.ChangeCreate:
		return []proto.ACL{{Perms: proto.PermAll,
			Id: proto.ID{Scheme: proto.Text(auth.SchemeWorld), Id: proto.Text("anyone")}}}, nil
	}
	for _, e := range c.ACL {
		perms, ok := api.Perms(e.Perms)
		if !ok {
			return nil, &api.Refusal{Status: http.StatusBadRequest,
				Text: "permissions " + strconv.Quote(e.Perms) + " are not some of the letters cdrwa, each once"}
		}
		list = append(list, proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(e.Scheme), Id: proto.Text(e.ID)}})
	}
	return list, nil
}

// happenings are the words of the API for events.
var happenings = map[proto.EventType]string{proto.EventNodeCreated: "created", proto.EventNodeDeleted: "deleted",
	proto.EventNodeDataChanged: "changed", proto.EventNodeChildrenChanged: "children"}

// Follow implements api.Server, by a persistent recursive watch of a session of its own.
func (n shown) Follow(ctx context.Context, a api.Actor, path string, yield func(api.Happening) bool) error {
	s, err := n.open(a)
	if err != nil {
		return sayUnavailable(err)
	}
	err = s.Follow(ctx, path, func(e inside.Event) bool {
		if e.Type == 0 {
			return yield(api.Happening{})
		}
		h := api.Happening{Type: happenings[e.Type], Path: e.Path, At: time.Now().UnixMilli()}
		if e.Zxid != 0 {
			h.Zxid = e.Zxid.String()
		}
		return yield(h)
	})
	return sayUnavailable(err)
}
