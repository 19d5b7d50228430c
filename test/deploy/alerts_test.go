package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/promtool"
)

// value is what a scrape finds after at; NaN is nothing at all.
type value func(at time.Duration) float64

// target is one process that Prometheus scrapes, and how its metrics go.
type target struct {
	labels map[string]string
	series map[string]value
}

func steady(v float64) value { return func(time.Duration) float64 { return v } }

// rising is a counter that grows by so much a second.
func rising(perSecond float64) value {
	return func(at time.Duration) float64 { return perSecond * at.Seconds() }
}

// then goes like before until a time, and like after from there on.
func then(before value, from time.Duration, after value) value {
	return func(at time.Duration) float64 {
		if at < from {
			return before(at)
		}
		return after(at - from)
	}
}

// accident begins after so long: any alert must have been silent for the time before.
const accident = 20 * time.Minute

// from changes a metric in the accident.
func (x *target) from(name string, after value) {
	before := x.series[name]
	if before == nil {
		before = steady(math.NaN())
	}
	x.series[name] = then(before, accident, after)
}

// grows lets a counter, which may stand still, grow by so much a second from the accident on.
func (x *target) grows(name string, perSecond float64) { x.from(name, rising(perSecond)) }

// ends is the end of the process: nothing can be scraped until it begins anew, with all counters at their beginning.
func (x *target) ends(at, down time.Duration) {
	for name, before := range x.series {
		gone := steady(math.NaN())
		if name == "up" {
			gone = steady(0)
		}
		again := before
		if name == "process_start_time_seconds" {
			again = steady((at + down).Seconds())
		}
		x.series[name] = then(before, at, then(gone, down, again))
	}
}

// stopsServing lets the process run without service for a while: then only some metrics are there.
func (x *target) stopsServing(at, until time.Duration) {
	for name, before := range x.series {
		switch name {
		case "up", "process_start_time_seconds", "warren_server_draining", "warren_zab_outside",
			"warren_zab_blank_voters", "warren_zab_strangers":
		case "warren_server_serving":
			x.series[name] = then(before, at, then(steady(0), until-at, before))
		default:
			x.series[name] = then(before, at, then(steady(math.NaN()), until-at, before))
		}
	}
}

const (
	forever = 1000 * time.Hour
	long    = 6 * time.Hour // an accident that is judged less often
)

const spareVoters = "warren_zab_spare_voters"

const refusedByDrain = `warren_server_connections_refused_total{reason="drain"}`

// day is one in seconds.
const day = 86400.0

// server is a healthy server with much to do: 1,000 syncs of the log a second, 5,000 connections, 2 million znodes.
func server(labels map[string]string) *target {
	x := &target{labels, map[string]value{
		"up": steady(1), "process_start_time_seconds": steady(1), "uptime": rising(1000),
		"quorum_size": steady(3), "looking_count": steady(1), "unavailable_time_sum": steady(180),
		"fsynctime_sum": rising(250), "fsynctime_count": rising(1000),
		"updatelatency_sum": rising(9000), "updatelatency_count": rising(4000),
		"readlatency_sum": rising(4000), "readlatency_count": rising(20000),
		"snapshottime_sum": rising(60), "snapshottime_count": rising(1.0 / 600), "snapshot_error_count": steady(0),
		"outstanding_requests": steady(300), "num_alive_connections": steady(5000), "connection_rejected": steady(0),
		"open_file_descriptor_count": steady(5200), "max_file_descriptor_count": steady(65536),
		"znode_count": steady(2e6), "watch_count": steady(1e6), "approximate_data_size": steady(4e9),
		`jvm_memory_bytes_used{area="heap"}`: steady(6e9), `jvm_memory_bytes_max{area="heap"}`: steady(16e9),
		"digest_mismatches_count": steady(0), "auth_failed_count": steady(3), "unsuccessful_handshake": steady(2),
		`quota_exceeded_error_per_namespace{key="app"}`: steady(0), "snap_count": steady(0),
		"warren_server_serving": steady(1), "warren_server_draining": steady(0), "warren_zab_outside": steady(0),
		"warren_zab_blank_voters": steady(0), "warren_zab_strangers": steady(0), "warren_server_disk_full": steady(0),
		"warren_server_disk_full_in_seconds": steady(-1), "warren_server_writes_refused_total": steady(0),
		"warren_server_log_lines_lost_total": steady(0),
		"warren_server_purge_errors_total":   steady(0),
		refusedByDrain:                       steady(0), "pending_syncs": steady(3),
		"warren_wal_slow_syncs_total":                            steady(7),
		`warren_server_slow_operations_total{stage="sync"}`:      rising(0.02),
		"warren_wal_append_txns_total":                           rising(4000),
		"warren_tls_certificate_expiry_timestamp_seconds":        steady(60 * day),
		"warren_tls_quorum_certificate_expiry_timestamp_seconds": steady(60 * day),
		"warren_backup_last_success_timestamp_seconds":           rising(1),
	}}
	x.series[spareVoters] = func(at time.Duration) float64 { // of a leader
		synced := x.series["synced_followers"]
		if synced == nil {
			return math.NaN()
		}
		return synced(at) - math.Floor(x.series["quorum_size"](at)/2)
	}
	return x
}

// ensemble is a healthy one; its first server leads.
func ensemble(job, name string, size int) []*target {
	var all []*target
	for i := range size {
		labels := map[string]string{"job": job, "instance": fmt.Sprintf("%s-zk%d:8080", job+name, i+1)}
		if name != "" && name != "unnamed" {
			labels["ensemble"] = name
		}
		all = append(all, server(labels))
		all[i].series["quorum_size"] = steady(float64(size))
	}
	leads(all[0], size-1)
	return all
}

func leads(x *target, synced int) {
	x.series["leader_uptime"], x.series["synced_followers"] = rising(1000), steady(float64(synced))
}

// restart drains a server and ends it; it is back, looks for the leader, and serves.
func restart(x *target, at time.Duration) {
	x.series["warren_server_draining"] = then(steady(0), at, then(steady(1), time.Minute, steady(0)))
	x.series[refusedByDrain] = then(steady(0), at, func(t time.Duration) float64 {
		return min(500, 10*t.Seconds())
	})
	x.ends(at+time.Minute, 45*time.Second)
	x.stopsServing(at+105*time.Second, at+130*time.Second)
}

// happening is what may happen to an ensemble.
type happening struct {
	alerts string
	happen func(main []*target) []*target // returns further targets
	lasts  time.Duration                  // half an hour if it is 0
	few    bool                           // the other alerts have less to judge by, which takes less time
}

// accidents are what may happen to an ensemble of three that is called main, and the alerts that tell of it: these,
// and no other.
var accidents = map[string]happening{
	"nothing": {},
	"another target of the same Prometheus is down": {happen: func([]*target) []*target {
		labels := map[string]string{"job": "node", "instance": "host:9100"}
		return []*target{{labels, map[string]value{"up": steady(0)}}}
	}},
	"another program restarts in a loop and fills its heap": {happen: func([]*target) []*target {
		return []*target{{map[string]string{"job": "java", "instance": "host:9404"}, map[string]value{
			"up": steady(1), "process_start_time_seconds": rising(1), `jvm_memory_bytes_used{area="heap"}`: steady(95),
			`jvm_memory_bytes_max{area="heap"}`: steady(100),
		}}}
	}},
	"a second ensemble in the job": {happen: func([]*target) []*target {
		return ensemble("zk", "second", 5)
	}},
	"two ensembles without a label in one job": {happen: unnamed(func([]*target) {})},
	"a server alone":        {happen: alone(func(*target) {})},
	"a rolling restart":     {happen: rolling},
	"a failover":            {happen: failover},
	"two servers are added": {happen: scaleOut},
	"a voter is dead": {
		alerts: "ServerDown NoSpareVoter", happen: func(m []*target) []*target { return die(m, 1) },
	},
	"a voter of five is dead": {
		alerts: "ServerDown VoterMissing", happen: voterOfFive,
	},
	"a voter of groups is dead, and more than half are in sync": {
		alerts: "ServerDown NoSpareVoter", happen: ofNine(6, 0), few: true,
	},
	"voters of groups are dead, and fewer than half are left to spare": {
		alerts: "ServerDown VoterMissing", happen: ofNine(4, 1), few: true,
	},
	"weights of which one voter has most": {happen: ofNine(8, 0), few: true},
	"a voter of servers of ZooKeeper is dead": {
		alerts: "ServerDown NoSpareVoter", happen: func([]*target) []*target {
			three := ensemble("java", "java", 3)
			for _, x := range three {
				maps.DeleteFunc(x.series, func(name string, _ value) bool {
					return strings.HasPrefix(name, "warren_")
				})
			}
			die(three, 1)
			return three
		}, few: true,
	},
	"the majority is dead": {
		alerts: "ServerDown NobodyServes", happen: majority,
	},
	"the majority of an unnamed one is dead": {
		alerts: "ServerDown NotServing", happen: unnamed(func(m []*target) { majority(m) }),
	},
	"a server alone is dead": {
		alerts: "ServerDown", happen: alone(func(x *target) { x.ends(accident, forever) }),
	},
	"a server without a label is dead": {
		alerts: "ServerDown NoSpareVoter", happen: unnamed(func(m []*target) { die(m, 1) }),
	},
	"a server cannot be reached by the others, and not be scraped either": {
		alerts: "ServerDown", happen: func(m []*target) []*target {
			m[2].ends(accident, forever)
			finding("unreachable", findings.Error)(m[0])
			return nil
		},
	},
	"a metrics port cannot be reached": {
		alerts: "ServerDown", happen: one(func(x *target) { x.ends(accident, forever) }),
	},
	"a server restarts in a loop": {
		alerts: "RestartsInALoop", happen: one(loop),
	},
	"a second leader": {
		alerts: "TwoLeaders", happen: one(func(x *target) { x.from("leader_uptime", rising(1000)) }),
	},
	"elections without end": {
		alerts: "ElectionsRepeat", happen: each(grows("looking_count", 1.0/120)),
	},
	"a quorum lost for five minutes": {
		alerts: "NobodyServes Unavailable", happen: outage,
	},
	"a learner that falls behind again": {
		alerts: "LearnersLoadSnapshots", happen: leader(grows("snap_count", 0.01)),
	},
	"a slow disk": {
		alerts: "SlowSync SlowWrites", happen: leader(slowDisk),
	},
	"reads of very large replies": {
		alerts: "SlowReads", happen: one(grows("readlatency_sum", 5e6)),
	},
	"clients faster than the ensemble": {
		alerts: "HeldBack", happen: leader(becomes("outstanding_requests", 3000)),
	},
	"snapshots without end": {alerts: "SlowSnapshot", happen: one(grows("snapshottime_sum", 900)), lasts: time.Hour},
	"a snapshot fails": {
		alerts: "SnapshotsFail", happen: one(becomes("snapshot_error_count", 1)),
	},
	"another tree than the leader's": {
		alerts: "TreeDiverged", happen: one(becomes("digest_mismatches_count", 1)),
	},
	"clients above a limit": {
		alerts: "ConnectionsRefused", happen: one(grows("connection_rejected", 1)),
	},
	"passwords are tried": {
		alerts: "AuthenticationFails", happen: one(grows("auth_failed_count", 1)),
	},
	"clients do not trust a certificate": {
		alerts: "HandshakesFail", happen: one(grows("unsuccessful_handshake", 1)),
	},
	"a quota is used up": {
		alerts: "QuotaExceeded", happen: one(grows(`quota_exceeded_error_per_namespace{key="app"}`, 1)),
	},
	"connections leak": {
		alerts: "FileLimitNear", happen: one(becomes("open_file_descriptor_count", 60000)),
	},
	"the heap grows": {
		alerts: "MemoryNearLimit", happen: one(becomes(`jvm_memory_bytes_used{area="heap"}`, 15e9)),
	},
	"znodes are never deleted": {
		alerts: "ManyZnodes", happen: each(becomes("znode_count", 6e6)),
	},
	"watches are never removed": {
		alerts: "ManyWatches", happen: one(becomes("watch_count", 3e6)),
	},
	"a server waits for its leader": {
		alerts: "NotServing", happen: one(func(x *target) { x.stopsServing(accident, forever) }),
	},
	"a directory with another history": {
		alerts: "NotServing OutsideTheEnsemble HistoriesDiffer", happen: outside,
	},
	"blank voters": {
		alerts: "NobodyServes DatabasesLost", happen: blank,
	},
	"a drained server that is new to Prometheus": {happen: one(func(x *target) {
		x.series["warren_server_draining"] = then(steady(math.NaN()), accident, steady(1))
	})},
	"a drain that nobody ended": {
		alerts: "StillDrained", happen: one(becomes("warren_server_draining", 1)), lasts: 2 * time.Hour,
	},
	"a drain that refuses clients": {happen: one(drained)},
	"a full disk": {
		alerts: "DiskAlmostFull", happen: one(becomes("warren_server_disk_full", 1)),
	},
	"a disk that fills up": {
		alerts: "DiskFullSoon", happen: one(becomes("warren_server_disk_full_in_seconds", 7200)),
	},
	"full disks of a majority": {
		alerts: "DiskAlmostFull WritesRefused", happen: each(fullDisk),
	},
	"slow operations": {
		alerts: "SlowOperations", happen: one(grows(`warren_server_slow_operations_total{stage="sync"}`, 5)),
	},
	"no snapshot for half a day": {alerts: "NoSnapshot", happen: one(noSnapshot), lasts: 13 * time.Hour},
	"requests sync wait": {
		alerts: "SyncsWait", happen: leader(becomes("pending_syncs", 400)),
	},
	"a disk that stalls again and again": {
		alerts: "DiskStalls", happen: one(grows("warren_wal_slow_syncs_total", 1.0/120)),
	},
	"a disk that stalled once": {happen: one(becomes("warren_wal_slow_syncs_total", 1))},
	"a limit of 1024 files": {
		alerts: "FileLimitLow", happen: one(func(x *target) {
			x.from("max_file_descriptor_count", steady(1024))
			x.from("open_file_descriptor_count", steady(100))
		}),
	},
	"the quorum's certificate ends in a week": {
		alerts: "QuorumCertificateExpires", happen: one(expires("tls_quorum")),
	},
	"the quorum's certificate ended yesterday": {
		alerts: "QuorumCertificateExpires", happen: one(expired),
	},
	"the last backup is three days old": {
		alerts: "BackupTooOld", happen: one(becomes("warren_backup_last_success_timestamp_seconds", -3*day)),
	},
	"a log that nobody reads": {
		alerts: "LogLinesLost", happen: one(grows("warren_server_log_lines_lost_total", 1)),
	},
	"a finding that these rules do not know": {
		alerts: "FindingLasts", happen: each(finding("of-a-newer-version", findings.Warning)),
	},
	"an idle ensemble": {happen: each(idle)},
}

// finding is one about the third server, as each server exports it.
func finding(check string, severity findings.Severity) func(*target) {
	return becomes(fmt.Sprintf(`warren_finding{check=%q,server="3",severity=%q}`, check, severity), 1)
}

// few are metrics by which Prometheus knows that there are servers, and that they serve.
var few = []string{"up", "process_start_time_seconds", "znode_count", "warren_server_serving"}

// keep leaves a target only some metrics.
func (x *target) keep(names ...string) {
	maps.DeleteFunc(x.series, func(name string, _ value) bool { return !slices.Contains(names, name) })
}

// withFindings are the accidents, and for each finding above notice one in which it lasts: the alerts that ask for
// the findings themselves fire in it. They are silent while all notices last, and when all findings end by themselves.
func withFindings() map[string]happening {
	all := maps.Clone(accidents)
	var notices, short []func(*target)
	for _, k := range findings.Kinds() {
		for _, severity := range k.Severities {
			if severity == findings.Notice {
				notices = append(notices, finding(k.Check, severity))
				continue
			}
			var alerts []string
			for _, a := range k.Alerts {
				if a.Expr == "" || strings.Contains(a.Expr, "warren_finding") {
					alerts = append(alerts, a.Name)
				}
			}
			all[fmt.Sprintf("the %s %s", severity, k.Check)] = happening{alerts: strings.Join(alerts, " "),
				happen: each(finding(k.Check, severity)), few: true}
			short = append(short, func(x *target) {
				x.from(fmt.Sprintf(`warren_finding{check=%q,server="3",severity=%q}`, k.Check, severity),
					then(steady(1), 30*time.Second, steady(math.NaN())))
			})
		}
	}
	inTurn := func(some []func(*target)) func([]*target) []*target {
		return each(func(x *target) {
			for _, happen := range some {
				happen(x)
			}
		})
	}
	all["all notices"] = happening{happen: inTurn(notices)}
	all["all findings for half a minute"] = happening{happen: inTurn(short)}
	return all
}

func becomes(name string, v float64) func(*target) {
	return func(x *target) { x.from(name, steady(v)) }
}

func grows(name string, perSecond float64) func(*target) {
	return func(x *target) { x.grows(name, perSecond) }
}

func leader(happen func(*target)) func([]*target) []*target {
	return func(main []*target) []*target { happen(main[0]); return nil }
}

// one is an accident of one follower.
func one(happen func(*target)) func([]*target) []*target {
	return func(main []*target) []*target { happen(main[2]); return nil }
}

func each(happen func(*target)) func([]*target) []*target {
	return func(main []*target) []*target {
		for _, x := range main {
			happen(x)
		}
		return nil
	}
}

// unnamed is an accident of one of two ensembles that share a job and have no label.
func unnamed(happen func([]*target)) func([]*target) []*target {
	return func([]*target) []*target {
		first, second := ensemble("zookeepers", "", 3), ensemble("zookeepers", "unnamed", 3)
		happen(first)
		return append(first, second...)
	}
}

// alone is an accident of a server without an ensemble.
func alone(happen func(*target)) func([]*target) []*target {
	return func([]*target) []*target {
		x := server(map[string]string{"job": "single", "instance": "single:8080", "ensemble": "single"})
		delete(x.series, "quorum_size")
		delete(x.series, "looking_count")
		happen(x)
		return []*target{x}
	}
}

// die ends the processes of followers for good.
func die(main []*target, count int) []*target {
	for _, x := range main[len(main)-count:] {
		x.ends(accident, forever)
	}
	if synced := len(main) - 1 - count; synced >= len(main)/2 {
		main[0].from("synced_followers", steady(float64(synced)))
	} else {
		for _, x := range main[:len(main)-count] {
			x.stopsServing(accident, forever)
		}
	}
	return nil
}

func majority(main []*target) []*target { return die(main, 2) }

// ofNine is an ensemble of nine voters with groups or weights; so many followers stay in sync, and so many voters may
// fail.
func ofNine(synced, spare int) func([]*target) []*target {
	return func([]*target) []*target {
		nine := ensemble("zk", "nine", 9)
		for _, x := range nine[1+synced:] {
			x.ends(accident, forever)
		}
		nine[0].from("synced_followers", steady(float64(synced)))
		nine[0].from(spareVoters, steady(float64(spare)))
		for _, x := range nine {
			x.keep(append(few, "leader_uptime", "quorum_size", "synced_followers", spareVoters)...)
		}
		return nine
	}
}

func voterOfFive([]*target) []*target {
	five := ensemble("zk", "five", 5)
	die(five, 1)
	return five
}

// rolling is a restart of all servers, the leader last; it hands over first.
func rolling(main []*target) []*target {
	const step = 5 * time.Minute
	for i, x := range main {
		at := accident + step*time.Duration((i+2)%3)
		for _, other := range main {
			if back := at + 130*time.Second; other == main[0] && i != 0 {
				other.series["synced_followers"] = then(other.series["synced_followers"], at+time.Minute,
					then(steady(1), back-at-time.Minute, steady(2)))
			}
		}
		restart(x, at)
	}
	last := accident + 2*step
	for name, goes := range map[string]value{"leader_uptime": rising(1000), "synced_followers": steady(2)} {
		main[0].series[name] = then(main[0].series[name], last, steady(math.NaN()))
		if name == "synced_followers" {
			goes = then(steady(1), 130*time.Second, goes)
		}
		main[1].series[name] = then(steady(math.NaN()), last, goes)
	}
	main[1].series["looking_count"] = then(main[1].series["looking_count"], last, steady(3))
	return nil
}

// failover is a leader that dies and comes back three minutes later, as a follower.
func failover(main []*target) []*target {
	main[0].ends(accident, 90*time.Second)
	main[0].from("leader_uptime", steady(math.NaN()))
	main[0].from("synced_followers", steady(math.NaN()))
	for _, x := range main[1:] {
		x.from("looking_count", steady(2))
		x.from("unavailable_time_sum", steady(3000))
	}
	main[1].from("leader_uptime", rising(1000))
	main[1].from("synced_followers", then(steady(1), 2*time.Minute, steady(2)))
	return nil
}

func scaleOut(main []*target) []*target {
	five := ensemble("zk", "main", 5)
	for _, x := range main {
		x.from("quorum_size", steady(5))
	}
	main[0].from("synced_followers", steady(4))
	main[0].from("snap_count", steady(2))
	for _, x := range five[3:] {
		for name, goes := range x.series {
			x.series[name] = then(steady(math.NaN()), accident-time.Minute, goes)
		}
	}
	return five[3:]
}

func loop(x *target) {
	for i := range 8 {
		x.ends(accident+time.Duration(i)*3*time.Minute, time.Minute)
	}
}

func outage(main []*target) []*target {
	for _, x := range main {
		x.from("looking_count", steady(2))
		x.from("unavailable_time_sum", steady(300180))
		x.stopsServing(accident, accident+5*time.Minute)
	}
	return nil
}

func slowDisk(x *target) {
	x.grows("fsynctime_sum", 950)
	x.grows("fsynctime_count", 10)
	x.grows("updatelatency_sum", 9000)
	x.grows("updatelatency_count", 40)
}

func outside(main []*target) []*target {
	main[2].from("warren_zab_outside", steady(1))
	main[0].from("warren_zab_strangers", steady(1))
	main[2].stopsServing(accident, forever)
	return nil
}

func blank(main []*target) []*target {
	for _, x := range main {
		x.from("warren_zab_blank_voters", steady(2))
		x.stopsServing(accident, forever)
	}
	return nil
}

func drained(x *target) {
	x.from("warren_server_draining", then(steady(1), 20*time.Minute, steady(0)))
	x.from(refusedByDrain, func(at time.Duration) float64 { return min(at.Seconds(), 20*60) })
}

func fullDisk(x *target) {
	x.from("warren_server_disk_full", steady(1))
	x.from("warren_server_disk_full_in_seconds", steady(0))
	x.grows("warren_server_writes_refused_total", 3)
}

func noSnapshot(x *target) {
	x.from("snapshottime_sum", steady(accident.Seconds()*60))
	x.from("snapshottime_count", steady(2))
}

func expires(what string) func(*target) {
	return func(x *target) { x.from("warren_"+what+"_certificate_expiry_timestamp_seconds", steady(7*day)) }
}

func expired(x *target) {
	x.from("warren_tls_quorum_certificate_expiry_timestamp_seconds", steady(-day))
}

// idle lets every counter stand still: nothing is divided by nothing.
func idle(x *target) {
	for _, name := range []string{"fsynctime", "updatelatency", "readlatency"} {
		x.series[name+"_sum"], x.series[name+"_count"] = steady(1000), steady(1000)
	}
}

// samples writes a metric in the notation of promtool.
func (x *target) samples(name string, interval, lasts time.Duration) string {
	var b strings.Builder
	there := false
	for at := time.Duration(0); at <= lasts; at += interval {
		v := x.series[name](at)
		switch is := !math.IsNaN(v); {
		case is:
			b.WriteString(strconv.FormatFloat(v, 'f', -1, 64) + " ")
		case there:
			b.WriteString("stale ")
		default:
			b.WriteString("_ ")
		}
		there = !math.IsNaN(v)
	}
	return b.String()
}

func TestAlertRulesAreValid(t *testing.T) { promtool.Valid(t) }

// In each accident exactly the alerts fire that are its own, also if Prometheus scrapes only once a minute; without an
// accident none fires, also if it scrapes more often. And every alert fires in some accident.
func TestAlertsFireInTheirAccidentsAlone(t *testing.T) {
	rules := must.Abs(t, promtool.RulesFile)
	fired := map[string]bool{}
	accidents := withFindings()
	for _, run := range []struct {
		scrape, evaluate time.Duration
		has              func(alerts string, lasts time.Duration) bool
	}{
		{15 * time.Second, time.Minute, func(alerts string, _ time.Duration) bool { return alerts == "" }},
		{time.Minute, time.Minute, func(_ string, lasts time.Duration) bool { return lasts < long }},
		{time.Minute, 10 * time.Minute, func(_ string, lasts time.Duration) bool { return lasts >= long }},
	} {
		file := promtool.File{RuleFiles: []string{rules}, Interval: run.evaluate.String()}
		for _, name := range slices.Sorted(maps.Keys(accidents)) {
			a := accidents[name]
			lasts := accident + max(a.lasts, 30*time.Minute)
			if !run.has(a.alerts, lasts) {
				continue
			}
			all := ensemble("zk", "main", 3)
			if a.few {
				for _, x := range all {
					x.keep(few...)
				}
			}
			if a.happen != nil {
				all = append(all, a.happen(all)...)
			}
			test := promtool.Test{Name: name, Interval: run.scrape.String()}
			for _, x := range all {
				for _, metric := range slices.Sorted(maps.Keys(x.series)) {
					test.Series = append(test.Series,
						promtool.Series{Series: promtool.Named(metric, x.labels),
							Values: x.samples(metric, run.scrape, lasts)})
				}
			}
			var want []promtool.Sample
			for alert := range strings.FieldsSeq(a.alerts) {
				fired[alert] = true
				want = append(want, promtool.Sample{Labels: fmt.Sprintf("{alertname=%q}", alert), Value: 1})
			}
			at := lasts.String()
			test.Exprs = []promtool.Expr{
				{Expr: fmt.Sprintf(`group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[%ds]))`,
					int(lasts.Seconds())), EvalTime: at, Samples: want},
				{Expr: fmt.Sprintf(`group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[%ds] offset `+
					`%ds))`, int(accident.Seconds())-1, int((lasts-accident).Seconds())+1), EvalTime: at},
			}
			file.Tests = append(file.Tests, test)
		}
		promtool.Pass(t, file)
	}
	for _, r := range promtool.Rules(t) {
		require.True(t, fired[r.Alert], "%s fires in no accident", r.Alert)
	}
}

// The first panel of the dashboard says by a number how the ensemble is, or several in one: healthy 0, look 1, act now
// 2.
func TestVerdictOfTheDashboard(t *testing.T) {
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "grafana/warren.json")), &board))
	expr := strings.NewReplacer("$job", "zk", "$ensemble", ".*").Replace(board.Panels[0].Targets[0].Expr)
	file := promtool.File{Interval: "1m"}
	for name, verdict := range map[string]float64{"nothing": 0, "clients above a limit": 0, "a voter is dead": 2,
		"a metrics port cannot be reached": 1, "a drain that nobody ended": 1, "a server waits for its leader": 1,
		"the majority is dead": 2, "a full disk": 2, "blank voters": 2, "another tree than the leader's": 2,
		"a voter of five is dead": 1, "a voter of groups is dead, and more than half are in sync": 2,
		"weights of which one voter has most": 0, "a second ensemble in the job": 0,
		"the whole ensemble is dead": 2, "the majority of a second ensemble is dead": 2,
		"a second ensemble in the job is dead": 2} {
		main := ensemble("zk", "main", 3)
		switch second := ensemble("zk", "second", 5); name {
		case "the whole ensemble is dead":
			die(main, 3)
		case "the majority of a second ensemble is dead":
			die(second, 3)
			main = append(main, second...)
		case "a second ensemble in the job is dead":
			die(second, 5)
			main = append(main, second...)
		default:
			if happen := accidents[name].happen; happen != nil {
				main = append(main, happen(main)...)
			}
		}
		test := promtool.Test{Name: name, Interval: "1m"}
		for _, x := range main {
			for metric := range x.series {
				test.Series = append(test.Series,
					promtool.Series{Series: promtool.Named(metric, x.labels),
						Values: x.samples(metric, time.Minute, accident+5*time.Minute)})
			}
		}
		for at, want := range map[string]float64{"15m": 0, "25m": verdict} {
			test.Exprs = append(test.Exprs, promtool.Expr{Expr: expr, EvalTime: at,
				Samples: []promtool.Sample{{Labels: "{}", Value: want}}})
		}
		file.Tests = append(file.Tests, test)
	}
	promtool.Pass(t, file)
}

// Every alert leads to a page that is there.
func TestRunbooksOfAlerts(t *testing.T) {
	const pages = "https://github.com/seed94657493/warren/blob/main/"
	for _, r := range promtool.Rules(t) {
		path, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		path, found := strings.CutPrefix(path, pages)
		require.True(t, found, "%s: %q", r.Alert, r.Annotations["runbook_url"])
		page := must.ReadFile(t, filepath.Join("..", "..", path))
		heading := regexp.MustCompile(`(?im)^#+ ` + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", "[ -]") + `$`)
		require.True(t, anchor == "" || heading.Match(page), "%s: %s has no heading %s", r.Alert, path, anchor)
	}
}
