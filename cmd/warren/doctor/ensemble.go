package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// Ensemble is servers that run.
type Ensemble struct {
	Servers   []string // host:port of client ports
	AdminPort int      // where their admin servers are; 0: not asked
	Timeout   time.Duration
	MaxLag    int64 // txns that a follower may be behind
	Now       func() time.Time
	// how a client port is dialled; nil, or a nil Config, is plain text
	TLS func(address string) (*tls.Config, error)
}

// Check asks every server at the same time and judges the answers.
func (o *Ensemble) Check(ctx context.Context) Findings {
	c := &ensembleCheck{Ensemble: o, all: make([]*answers, len(o.Servers))}
	var asking sync.WaitGroup
	for i, address := range o.Servers {
		asking.Go(func() { c.all[i] = o.examine(ctx, address) })
	}
	asking.Wait()
	c.alive()
	c.histories()
	c.leaders()
	c.membership()
	c.ids()
	c.settings()
	c.lag()
	c.digests()
	for _, a := range c.all {
		if a.err == nil {
			c.clientPorts(a)
			c.load(a)
			c.certificate(a)
		}
	}
	c.clocks()
	c.Findings.Sort()
	return c.Findings
}

type ensembleCheck struct {
	*Ensemble
	Findings
	all []*answers
}

// with returns the servers of a mode.
func (c *ensembleCheck) with(mode string) (some []*answers) {
	for _, a := range c.all {
		if a.err == nil && a.mode == mode {
			some = append(some, a)
		}
	}
	return some
}

func addresses(some []*answers) string {
	names := make([]string, len(some))
	for i, a := range some {
		names[i] = a.address
	}
	return strings.Join(names, ", ")
}

// alive finds out which servers answer and which of them serve.
func (c *ensembleCheck) alive() {
	for _, a := range c.all {
		switch {
		case a.err != nil:
			c.add(Error, "unreachable", a.address, "check whether it runs, and check the network",
				"does not answer: %v", a.err)
		case a.mode == "" && a.zab != nil && a.zab.Outside: // histories tells
		case a.mode == "" && a.zab != nil && a.zab.WaitsFor != "":
			c.take(a.address, findings.Waits(a.zab.WaitsFor))
		case a.mode == "":
			c.take(a.address, findings.NotServing(firstLine(a.text)))
		case a.mode == "read-only":
			c.take(a.address, findings.ReadOnly())
		}
		if a.err == nil && len(a.denied) > 0 {
			slices.Sort(a.denied)
			c.add(Notice, "whitelist", a.address, "4lw.commands.whitelist="+strings.Join(a.denied, ","),
				"does not answer %s, so not everything was checked", strings.Join(a.denied, ", "))
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// leaders looks whether exactly one leads, and a quorum follows.
func (c *ensembleCheck) leaders() {
	leaders, alone := c.with("leader"), c.with("standalone")
	followers, observers := c.with("follower"), c.with("observer")
	what := strings.Join(c.Servers, ", ")
	switch {
	case len(leaders) > 1:
		c.add(Critical, "several-leaders", addresses(leaders),
			"compare server.N on all of them, and correct it if it differs; otherwise find out which one "+
				"the others follow, and stop the one that is cut off", "%d servers lead", len(leaders))
	case len(leaders) == 0 && len(followers)+len(observers) > 0:
		c.add(Notice, "leader-not-asked", addresses(append(followers, observers...)), "name the leader too",
			"follows a leader that was not asked or did not answer")
	case len(leaders) == 0 && len(alone) == 0 && c.stuck():
	case len(leaders) == 0 && len(alone) == 0 && c.allRun():
		c.add(Critical, "no-quorum", what,
			"find out what the servers wait for: in their logs, at /readyz, or here with --admin-port",
			"all servers that were asked run, and no server leads: no client can write")
	case len(leaders) == 0 && len(alone) == 0:
		c.add(Critical, "no-quorum", what,
			"start the servers that are missing, which warren status names, until more than half of "+
				"the voters run; the ports between the servers must be open in both directions",
			"no server leads: no client can write")
	case len(leaders) == 1:
		c.take(leaders[0].address, findings.Quorum(leaders[0].number)...)
	}
	if len(alone) > 0 && len(alone)+len(leaders)+len(followers)+len(observers) > 1 {
		c.add(Critical, "not-in-ensemble", addresses(alone),
			"correct its zoo.cfg: give it the same server.N lines as the others; what was written to it "+
				"stays there alone",
			"runs alone beside others: its clients see another tree")
	}
}

// allRun reports whether every server that was asked answers.
func (c *ensembleCheck) allRun() bool {
	return !slices.ContainsFunc(c.all, func(a *answers) bool { return a.err != nil })
}

// membership compares the lists of servers.
func (c *ensembleCheck) membership() {
	lists := map[string][]*answers{}
	for _, a := range c.all {
		if a.err == nil && a.membership != "" {
			lists[a.membership] = append(lists[a.membership], a)
		}
	}
	if len(lists) > 1 {
		for _, list := range slices.Sorted(maps.Keys(lists)) {
			c.add(Error, "different-members", addresses(lists[list]),
				"compare server.N in their zoo.cfg, or zoo.cfg.dynamic.*, and make them the same",
				"has another list of servers than others: %s", strings.ReplaceAll(list, "\n", " "))
		}
		return
	}
	for list := range lists {
		n := 0
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, "server.") {
				n++
			}
		}
		if n > len(c.all) {
			c.add(Notice, "not-asked", strings.Join(c.Servers, ", "), "name them too",
				"the ensemble has %d servers, %d were asked", n, len(c.all))
		}
	}
}

// ids looks whether two servers have one id. A server that does not serve says it at its admin port only.
func (c *ensembleCheck) ids() {
	ids := map[string]string{}
	for _, a := range c.all {
		id := a.conf["serverId"]
		if a.zab != nil {
			id = strconv.FormatInt(a.zab.ID, 10)
		} else if id == "0" {
			continue // of a standalone server
		}
		if other := ids[id]; other != "" && id != "" {
			c.add(Critical, "same-id", a.address, "stop the wrong one, or give it an id of its own in myid",
				"has the id %s, like %s", id, other)
		}
		ids[id] = a.address
	}
}

// clientPorts compares the ports on which a server listens with those that the configuration of the ensemble gives it.
func (c *ensembleCheck) clientPorts(a *answers) {
	id, err := strconv.ParseInt(a.conf["serverId"], 10, 64)
	q, malformed := config.ParseMembers([]byte(a.membership))
	if err != nil || malformed != nil || q.Member(id) == nil {
		return
	}
	own := q.Member(id)
	for key, wanted := range map[string]int{"clientPort": own.Client.Port, "secureClientPort": own.Secure.Port} {
		if open, err := strconv.Atoi(a.conf[key]); err == nil && open > 0 && wanted > 0 && open != wanted {
			remedy := fmt.Sprintf("find the program that has port %d, with ss -ltnp, and end it: the server opens "+
				"the port as soon as it can; or give the server another port with reconfig", wanted)
			c.add(Error, "client-port", a.address, remedy,
				"listens on %s %d, and the configuration of the ensemble says %d", key, open, wanted)
		}
	}
}

// alike are settings that are to be the same on every server.
var alike = []string{"tickTime", "initLimit", "syncLimit", "minSessionTimeout", "maxSessionTimeout", "electionAlg"}

// settings compares what conf says, and the versions.
func (c *ensembleCheck) settings() {
	for _, key := range append(slices.Clone(alike), "version") {
		values := map[string][]*answers{}
		for _, a := range c.all {
			value := a.conf[key]
			if key == "version" {
				value, _, _ = strings.Cut(strings.TrimPrefix(firstLine(a.text), "Zookeeper version: "), ",")
			}
			if a.err == nil && a.mode != "" && value != "" {
				values[value] = append(values[value], a)
			}
		}
		if len(values) < 2 {
			continue
		}
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, fmt.Sprintf("%s on %s", value, addresses(values[value])))
		}
		if key == "version" {
			c.add(Notice, "different-versions", strings.Join(c.Servers, ", "), "finish the upgrade", "%s",
				strings.Join(parts, "; "))
		} else {
			c.add(Warning, "different-settings", strings.Join(c.Servers, ", "),
				"make "+key+" the same in every zoo.cfg", "%s is %s", key, strings.Join(parts, "; "))
		}
	}
}

// lag compares zxids with the leader's. The answers are not of one moment, hence MaxLag.
func (c *ensembleCheck) lag() {
	leaders := c.with("leader")
	if len(leaders) != 1 {
		return
	}
	leader := leaders[0].zxid
	for _, a := range append(c.with("follower"), c.with("observer")...) {
		const remedy = "look at its disk, its network and its log; if it stays behind, restart it"
		switch {
		case a.zxid.Epoch() > leader.Epoch():
			c.add(Warning, "lag", a.address, "ask again: there may have been an election",
				"is in epoch %d, after the leader's %d", a.zxid.Epoch(), leader.Epoch())
		case a.zxid.Epoch() < leader.Epoch() && leader.Counter() > uint32(min(c.MaxLag, 1<<31)):
			c.add(Error, "lag", a.address, remedy, "is in epoch %d, the leader in %d: it applies nothing",
				a.zxid.Epoch(), leader.Epoch())
		case a.zxid.Epoch() == leader.Epoch() && int64(leader-a.zxid) > c.MaxLag:
			c.add(Warning, "lag", a.address, remedy, "is %s behind the leader",
				wording.Count(int64(leader-a.zxid), "txn"))
		}
	}
}

// digests compares the trees at the zxids of which several servers know the digest.
func (c *ensembleCheck) digests() {
	byZxid := map[proto.Zxid]map[string][]*answers{}
	for _, a := range c.all {
		for z, d := range a.digests {
			if byZxid[z] == nil {
				byZxid[z] = map[string][]*answers{}
			}
			byZxid[z][d] = append(byZxid[z][d], a)
		}
	}
	for _, z := range slices.Sorted(maps.Keys(byZxid)) {
		if len(byZxid[z]) < 2 {
			continue
		}
		var parts []string
		for _, d := range slices.Sorted(maps.Keys(byZxid[z])) {
			parts = append(parts, fmt.Sprintf("%s on %s", d, addresses(byZxid[z][d])))
		}
		c.add(Critical, "digest", strings.Join(c.Servers, ", "), differing(byZxid[z]),
			"the trees differ at %v: %s", z, strings.Join(parts, "; "))
		return // all later ones differ too
	}
}

// differing is what to do about servers with different trees. The leader may be the one that is wrong.
func differing(trees map[string][]*answers) string {
	all, most := 0, ""
	for d, some := range trees {
		if all += len(some); len(some) > len(trees[most]) {
			most = d
		}
	}
	if 2*len(trees[most]) <= all {
		return "empty none before it is known which one is right: warren doctor on the directory of each"
	}
	var wrong []*answers
	for _, d := range slices.Sorted(maps.Keys(trees)) {
		if d != most {
			wrong = append(wrong, trees[d]...)
		}
	}
	return "most agree, and " + addresses(wrong) + " differs, be it the leader or not. Leave the others alone; on " +
		"the one that differs: " + remedyResync
}

// load looks at the numbers of one server.
func (c *ensembleCheck) load(a *answers) {
	c.take(a.address, findings.Numbers(a.number, a.metrics["warren_wal_slow_syncs_total"])...)
	c.take(a.address, findings.Disk(a.metrics[diskFull] > 0, fullIn(a.metrics))...)
	if a.metrics[draining] > 0 {
		c.take(a.address, findings.Drained())
	}
	if limit, err := strconv.Atoi(a.conf["maxClientCnxns"]); err == nil && limit > 0 {
		for _, host := range slices.Sorted(maps.Keys(a.perHost)) {
			if n := a.perHost[host]; n*5 >= limit*4 {
				c.add(Warning, "connection-limit", a.address,
					"check whether that client forgets to close sessions, or raise maxClientCnxns",
					"%s has %d of at most %d connections", host, n, limit)
			}
		}
	}
	c.quotas(a)
}

// quotas looks at the quotas of each first element of paths.
func (c *ensembleCheck) quotas(a *answers) {
	const remedy = "look at the quotas with listquota of warren shell; raise them with setquota, or delete znodes"
	for _, key := range slices.Sorted(maps.Keys(a.numbers)) {
		value, _ := a.number(key)
		for _, kind := range []string{"count", "bytes"} {
			space, isUsage := strings.CutSuffix(key, "_quota_"+kind+"_usage_per_namespace")
			limit, hasLimit := a.number(space + "_quota_" + kind + "_limit_per_namespace")
			if isUsage && hasLimit && limit > 0 && value > limit {
				c.add(Warning, "quota", a.address, remedy, "the quotas of %s below /%s allow %v and %v are used", kind,
					space, limit, value)
			}
		}
		if space, ok := strings.CutSuffix(key, "_quota_exceeded_error_per_namespace"); ok && value > 0 {
			c.add(Notice, "quota", a.address, remedy,
				"%v writes below /%s were refused, since its start or the last srst", value, space)
		}
	}
}

// certificate looks how long the certificate of the secure port lasts.
func (c *ensembleCheck) certificate(a *answers) {
	const remedy = "renew it; the server reads a new one without a restart if client.certReload is set"
	switch left := a.certEnd.Sub(c.Now()); {
	case a.certErr != nil:
		c.add(Warning, "certificate", a.address, "look at secureClientPort and the firewall",
			"its certificate cannot be looked at: %v", a.certErr)
	case a.certEnd.IsZero():
	case left <= 0:
		c.add(Critical, "certificate", a.address, remedy, "its certificate expired at %s",
			a.certEnd.UTC().Format(time.RFC3339))
	case left < 30*24*time.Hour:
		c.add(Warning, "certificate", a.address, remedy, "its certificate expires at %s",
			a.certEnd.UTC().Format(time.RFC3339))
	}
}

// The differences of clocks that are worth a word. The servers say the time to the second.
const (
	skewWarn  = 3 * time.Second
	skewError = 30 * time.Second
)

// clocks compares every clock with ours.
func (c *ensembleCheck) clocks() {
	for _, a := range c.all {
		if a.clock.IsZero() {
			continue
		}
		skew := a.clock.Sub(a.asked).Truncate(time.Second)
		const remedy = "let NTP set the clock; ctime, mtime and TTLs come from the leader's clock"
		switch away := max(skew, -skew); {
		case away >= skewError:
			c.add(Error, "clock", a.address, remedy, "its clock differs from this machine's by %v", skew)
		case away >= skewWarn:
			c.add(Warning, "clock", a.address, remedy, "its clock differs from this machine's by %v", skew)
		}
	}
}
