package system

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/model"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal"
)

// membership is a configuration of the ensemble.
type membership struct {
	version proto.Zxid
	lines   map[int]string // by id, without the id
	groups  string         // lines of groups and weights; empty if majorities decide
}

// The lines of servers in configurations that clients ask for are in the form in which servers show them. So a
// configuration that a server makes of them must be the same text.
func memberLine(id int, role config.Role) string {
	return fmt.Sprintf("%s:2888:3888:%s;%s:%d", hostName(id), role, hostName(id), clientPort)
}

// founding is the configuration that the files of the first servers have.
func (w *world) founding() membership {
	m := membership{version: w.first, lines: map[int]string{}}
	for id := 1; id <= w.o.Servers; id++ {
		m.lines[id] = memberLine(id, w.role(id))
	}
	return m
}

// text is what the znode of the configuration holds.
func (m membership) text() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m.lines)) {
		fmt.Fprintf(&b, "server.%d=%s\n", id, m.lines[id])
	}
	fmt.Fprintf(&b, "%sversion=%x", m.groups, int64(m.version))
	return b.String()
}

// voters returns how many members have a vote.
func (m membership) voters() (n int) {
	for id := range m.lines {
		if m.votes(id) {
			n++
		}
	}
	return n
}

// changed returns the configuration that a request asks for. Source: quorum-protocol 11.4.
func (m membership) changed(r *proto.ReconfigRequest, version proto.Zxid) (membership, proto.ErrCode) {
	next := membership{version: version, lines: map[int]string{}}
	switch {
	case r.CurConfigID != -1 && proto.Zxid(r.CurConfigID) != m.version:
		return next, proto.ErrBadVersion
	case r.NewMembers != nil:
		for line := range strings.SplitSeq(r.NewMembers.String(), ",") {
			if !next.set(line) {
				next.groups += line + "\n"
			}
		}
	case m.groups != "":
		return next, proto.ErrBadArguments
	default:
		next.lines = maps.Clone(m.lines)
		for _, id := range listed(r.LeavingServers) {
			n, _ := strconv.Atoi(id)
			delete(next.lines, n)
		}
		for _, line := range listed(r.JoiningServers) {
			next.set(line)
		}
	}
	if next.voters() == 0 {
		return next, proto.ErrBadArguments
	}
	return next, proto.OK
}

// set takes the line of a server; it returns false for other lines.
func (m membership) set(line string) bool {
	key, value, _ := strings.Cut(line, "=")
	id, err := strconv.Atoi(strings.TrimPrefix(key, "server."))
	if err == nil {
		m.lines[id] = value
	}
	return err == nil
}

func listed(t proto.Text) []string {
	return strings.FieldsFunc(t.String(), func(c rune) bool { return c == ',' })
}

// draw draws a reconfiguration, or a read of the configuration. Some come or change their role, some go; or a whole
// list is given. A few are refused: they name an old version, or no voter.
func (w *world) drawMembers() asked {
	s := w.s
	if s.chance(30) || s.now < w.lasting {
		watched := s.chance(50)
		a := asked{Request: wire.GetData(datatree.ConfigPath, watched), path: datatree.ConfigPath}
		if watched {
			a.watch = dataWatch
		}
		return a
	}
	from := int64(-1)
	switch n := s.rng.IntN(100); {
	case n < 30:
		from = int64(w.members)
	case n < 35:
		from = int64(w.members) + 1
	}
	line := func(id int) string {
		if s.chance(25) {
			return fmt.Sprintf("server.%d=%s", id, memberLine(id, config.Observer))
		}
		return fmt.Sprintf("server.%d=%s", id, memberLine(id, config.Participant))
	}
	ids := s.rng.Perm(len(w.nodes))
	n := 1 + s.rng.IntN(len(ids))
	if s.chance(30) {
		var all, voters []string
		for _, i := range ids[:n] {
			all = append(all, line(i+1))
			if strings.Contains(all[len(all)-1], ":participant;") {
				voters = append(voters, strconv.Itoa(i+1))
			}
		}
		if len(voters) > 2 && s.chance(30) { // two groups, and votes that weigh differently
			cut := 1 + s.rng.IntN(len(voters)-1)
			all = append(all, grouped(ids[:n], voters[:cut], voters[cut:])...)
		}
		return asked{Request: wire.Reconfig("", "", strings.Join(all, ","), from)}
	}
	var come, leave []string
	for _, i := range ids[:min(n, 2)] {
		if s.chance(60) {
			come = append(come, line(i+1))
		} else {
			leave = append(leave, strconv.Itoa(i+1))
		}
	}
	return asked{Request: wire.Reconfig(strings.Join(come, ","), strings.Join(leave, ","), "", from)}
}

// grouped returns the lines of groups and weights, in the order in which servers show them.
func grouped(ids []int, one, other []string) (lines []string) {
	for i, group := range [][]string{one, other} {
		slices.SortFunc(group, func(a, b string) int { return cmp.Compare(len(a), len(b))*2 + cmp.Compare(a, b) })
		lines = append(lines, fmt.Sprintf("group.%d=%s", i+1, strings.Join(group, ":")))
	}
	for _, i := range slices.Sorted(slices.Values(ids)) {
		lines = append(lines, fmt.Sprintf("weight.%d=1", i+1))
	}
	return lines
}

// reconfigured is the configuration in the payload of a txn; nil if it is no reconfiguration.
func reconfigured(payload []byte) []byte {
	r := proto.NewReader(payload)
	var h proto.TxnHeader
	h.Decode(&r)
	if h.Type != proto.OpReconfig {
		return nil
	}
	var txn proto.SetDataTxn
	txn.Decode(&r)
	return bytes.Clone(txn.Data)
}

// reconfigure checks what has become of a reconfiguration: the configuration that a txn has made, or why there is
// none. It completes the request of the model; it returns true if the model is not to be asked.
func (r *replay) reconfigure(t *txn, q *request, failed proto.ErrCode, mr *model.Request) (done bool, err error) {
	var asked proto.ReconfigRequest
	if err := asked.ReadFrom(q.body); err != nil {
		return false, err
	}
	next, code := r.members.changed(&asked, t.zxid)
	switch failed {
	case proto.ErrReconfigInProgress: // before it was looked at
		return true, nil
	case proto.ErrBadVersion, proto.ErrBadArguments:
		if failed == code {
			return true, nil
		}
	case proto.ErrNewConfigNoQuorum:
		if code == proto.OK {
			return true, nil
		}
	}
	if code != proto.OK {
		return false, broken(Configurations, "reconfiguration %q of %q ends in %v, not in %v", q.body,
			r.members.text(), failed.Name(), code.Name())
	}
	mr.NewConfig = []byte(next.text())
	if failed != proto.OK {
		return false, nil // for a reason that the model knows
	}
	if got := reconfigured(t.payload); string(got) != next.text() {
		return false, broken(Configurations, "reconfiguration %q of %q makes %q, not %q", q.body, r.members.text(),
			got, next.text())
	}
	r.members = next
	return false, nil
}

// configurations checks what servers hold of the configurations: what meta.db has is what a txn has made, and the
// members of the last one have it.
func (w *world) configurations() error {
	if w.first == 0 && w.reconfigs == 0 && w.has(Reconfig) { // no txn was applied: the servers agree on a first one
		w.first = proto.MakeZxid(w.nodes[0].srv.Status().Config.Epoch(), 0)
		w.members = w.first
	}
	for _, n := range w.nodes {
		kept, ok := n.disk.meta.Config()
		if !ok {
			continue
		}
		want := w.founding().text()
		if t := w.history[kept.Version]; t != nil {
			want = string(reconfigured(t.payload))
		}
		if got := fmt.Sprintf("%s\nversion=%x", kept.Text, int64(kept.Version)); got != want {
			return broken(Configurations, "server %d holds the configuration %q of %v, which no txn has made", n.id,
				kept.Text, kept.Version)
		}
	}
	for _, n := range w.votersAndObservers() {
		if v := n.srv.Status().Config; v != w.members {
			return broken(Configurations, "server %d has the configuration %v, the last is %v", n.id, v, w.members)
		}
	}
	return nil
}

// votersAndObservers are the servers of the last configuration, which have to serve in the end.
func (w *world) votersAndObservers() (all []*node) {
	if !w.has(Reconfig) {
		return w.nodes
	}
	m := w.membership()
	for _, n := range w.nodes {
		if m.lines[n.id] != "" {
			all = append(all, n)
		}
	}
	return all
}

// noteFirst takes the version of the first configuration. It is that of the first epoch that has served, and is
// durable before anything behind it is applied.
func (w *world) noteFirst(n *node) {
	if !w.has(Reconfig) {
		return
	}
	kept, ok := n.disk.meta.Config()
	switch {
	case !ok:
		w.s.fail(Configurations, "server %d applies %v, and has no configuration on its disk", n.id, n.last)
	case w.first == 0 && w.reconfigs == 0:
		w.first = proto.MakeZxid(kept.Version.Epoch(), 0) // the first txn may change it already
		w.members = w.first
	case kept.Version != w.first && kept.Version.Counter() == 0:
		w.s.fail(Configurations, "server %d gives the first configuration the version %v, it was %v", n.id,
			kept.Version, w.first)
	}
}

// noteMembers takes a txn that was applied.
func (w *world) noteMembers(t *txn) {
	if t.zxid > w.members && w.has(Reconfig) && reconfigured(t.payload) != nil {
		w.members = t.zxid
		w.reconfigs++
	}
}

// joiners is how many servers wait to join.
func (w *world) joiners() int {
	if !w.has(Reconfig) {
		return 0
	}
	return 1 + int(w.o.Seed%2)
}

// found writes the first configuration into its znode. Each server does so when it starts, with its own clock: the
// time is that of the reply.
func (r *replay) found(it *item) {
	var shown proto.GetDataResponse
	rd := proto.NewReader(it.body)
	shown.Decode(&rd)
	r.m.SetConfig([]byte(r.members.text()), r.members.version, shown.Stat.Mtime)
}

// wipeMember loses the disk of a server if the ensemble stays as it is meanwhile, and the others are a quorum of it:
// a server without a disk is no voter, and one that is needed for a quorum would be missed forever.
func (f *faults) wipeMember(n *node, lasts time.Duration) {
	w := f.w
	w.lasting = w.s.now + lasts + 2*time.Second
	w.s.plan(time.Second, nil, "wipe", func() {
		m := w.membership()
		switch {
		case f.over || m.groups != "" || m.voters() < 3 && m.votes(n.id) || !f.safe(n) || w.pends():
			return
		}
		f.wipe(n, lasts)
		n.toldMembers()
	})
}

// toldMembers gives a server the files that its operator writes: the servers of the ensemble, and itself.
func (n *node) toldMembers() {
	m := n.w.membership()
	if m.lines[n.id] == "" {
		m.version, m.lines[n.id] = 0, memberLine(n.id, config.Participant)
	}
	q, err := config.ParseMembers([]byte(m.text()))
	if err != nil {
		n.w.s.fail(Configurations, "configuration %q: %v", m.text(), err)
		return
	}
	c := *n.cfg
	c.Quorum = *c.Quorum.With(q)
	n.cfg = &c
}

// files is the configuration in the files of a server that has no other one; empty if it has.
func (n *node) files() string {
	if _, kept := n.disk.meta.Config(); kept || !n.w.has(Reconfig) {
		return ""
	}
	return n.cfg.Quorum.Text() + "\nversion=0"
}

// votes reports whether a server has a vote.
func (m membership) votes(id int) bool { return strings.Contains(m.lines[id], ":participant;") }

// pends reports whether another configuration may come: the log of a server has a reconfiguration that none has
// applied, or one that was asked for a while ago may still be proposed. A server that pauses or stalls does not know
// yet that the disk of a server that is to be a voter is lost.
func (w *world) pends() (found bool) {
	for _, n := range w.nodes {
		n.logged(func(r *wal.Record) { found = found || r.Zxid > w.members && reconfigured(r.Payload) != nil })
	}
	return found || slices.ContainsFunc(w.connections, func(c *connection) bool {
		return slices.ContainsFunc(c.requests, func(q *request) bool {
			return q.op == proto.OpReconfig && q.reply == nil && w.s.now-q.sent < time.Minute
		})
	})
}

// membership is the last configuration that was applied.
func (w *world) membership() membership {
	t := w.history[w.members]
	if t == nil {
		return w.founding()
	}
	m := membership{version: w.members, lines: map[int]string{}}
	for line := range strings.SplitSeq(string(reconfigured(t.payload)), "\n") {
		if !m.set(line) && !strings.HasPrefix(line, "version=") {
			m.groups += line + "\n"
		}
	}
	return m
}
