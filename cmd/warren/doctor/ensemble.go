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

// Seen is what was found of servers that run.
type Seen struct {
	Findings Findings
	Servers  []findings.Server // in the order in which they were named, and then those that they know besides
	Srvr     []string          // the answers to that word, as Servers; empty if there was none
	Err      []error           // why there was none
	Programs []string          // of the same: Warren or ZooKeeper, with its version; empty if that is not known
}

// Check asks every server at the same time and judges the answers.
func (o *Ensemble) Check(ctx context.Context) Findings { return o.Look(ctx).Findings }

// Look asks every server at the same time and judges the answers, as each of the servers does by itself, and by what
// can be seen from here besides.
func (o *Ensemble) Look(ctx context.Context) *Seen {
	c := &ensembleCheck{Ensemble: o, all: make([]*answers, len(o.Servers))}
	var asking sync.WaitGroup
	for i, address := range o.Servers {
		asking.Go(func() { c.all[i] = o.examine(ctx, address) })
	}
	asking.Wait()
	seen := &Seen{}
	var asked []findings.Server
	var told [][]findings.Server
	for _, a := range c.all {
		asked, told = append(asked, a.facts), append(told, a.others)
		seen.Srvr, seen.Err = append(seen.Srvr, a.text), append(seen.Err, a.err)
		seen.Programs = append(seen.Programs, a.program)
	}
	seen.Servers = findings.Merge(asked, told...)
	c.take(o.Servers, findings.Ensemble(seen.Servers, o.Now(), o.MaxLag))
	c.notAsked(seen.Servers)
	c.digests()
	for _, a := range c.all {
		if a.err == nil {
			c.denied(a)
			c.clientPorts(a)
			c.load(a)
			c.certificate(a)
		}
	}
	c.clocks()
	c.Findings.Sort()
	seen.Findings = c.Findings
	return seen
}

type ensembleCheck struct {
	*Ensemble
	Findings
	all []*answers
}

func addresses(some []*answers) string {
	names := make([]string, len(some))
	for i, a := range some {
		names[i] = a.address
	}
	return strings.Join(names, ", ")
}

// denied tells which words a server does not answer.
func (c *ensembleCheck) denied(a *answers) {
	if len(a.denied) > 0 {
		slices.Sort(a.denied)
		c.add(Notice, "whitelist", a.address, "4lw.commands.whitelist="+strings.Join(a.denied, ","),
			"does not answer %s, so not everything was checked", strings.Join(a.denied, ", "))
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// notAsked tells that an ensemble has more servers than are known.
func (c *ensembleCheck) notAsked(known []findings.Server) {
	most := 0
	for i := range known {
		most = max(most, strings.Count("\n"+known[i].Members, "\nserver."))
	}
	if most > len(known) {
		c.add(Notice, "not-asked", strings.Join(c.Servers, ", "), "name them too",
			"the ensemble has %d servers, %d were asked", most, len(known))
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

// load looks at the connections and the quotas of one server.
func (c *ensembleCheck) load(a *answers) {
	if limit, err := strconv.Atoi(a.conf["maxClientCnxns"]); err == nil && a.facts.Instance == 0 { // else it has told
		c.take([]string{a.address}, findings.ConnectionLimit(a.perHost, limit))
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

// certificate looks how long the certificate of the secure port lasts, unless the server has told.
func (c *ensembleCheck) certificate(a *answers) {
	if a.certErr != nil {
		c.add(Warning, "certificate", a.address, "look at secureClientPort and the firewall",
			"its certificate cannot be looked at: %v", a.certErr)
	} else if a.facts.Instance == 0 {
		c.take([]string{a.address}, findings.Certificate("its certificate", a.certEnd, c.Now()))
	}
}

// clocks compares every clock with ours.
func (c *ensembleCheck) clocks() {
	for _, a := range c.all {
		if !a.clock.IsZero() {
			c.take([]string{a.address}, findings.Clock(a.clock.Sub(a.asked), "this machine's"))
		}
	}
}
