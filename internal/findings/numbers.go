package findings

import (
	"fmt"
	"time"
)

// Finding is one thing that is wrong with a server or an ensemble.
type Finding struct {
	Severity Severity  `json:"severity"`
	Check    string    `json:"check"`             // its name, which stays the same
	Server   int64     `json:"server"`            // myid; NoServer for the whole ensemble, and if it is not known
	Address  string    `json:"address,omitempty"` // of that server, if it is known
	What     string    `json:"what"`              // without the server, which the reader sees
	Remedy   string    `json:"remedy,omitempty"`
	Since    time.Time `json:"since,omitzero"` // when it began; zero if that is not known
}

// Text is what is wrong, with the server.
func (f *Finding) Text() string {
	if f.Server <= 0 { // the whole ensemble, or a server that stands alone
		return f.What
	}
	return fmt.Sprintf("server %d: %s", f.Server, f.What)
}

type list []Finding

func (l *list) add(s Severity, check, remedy, format string, args ...any) {
	*l = append(*l, find(s, check, remedy, format, args...))
}

// syncsMin is how many syncs an average needs before it says something about the disk.
const syncsMin = 100

// ZnodesWarn is a number of znodes that is worth a word.
const ZnodesWarn = 5_000_000

// RemedyResync is what to do about a server with other data than it should have.
const RemedyResync = "if the other servers of the ensemble are healthy, replace this one: move its version-2 " +
	"directories away, and let it synchronize; otherwise warren restore from a backup, or warren wal repair, " +
	"which says what it would lose"

// SinceStart is when the events of counters happened that only mntr tells of.
const SinceStart = "since its start or the last srst"

// Numbers are the findings from what mntr prints, whose numbers have there the prefix zk_, and from the syncs of
// the log above fsync.warningthresholdms. when says since when the Counters count.
func Numbers(number func(name string) (float64, bool), slowSyncs float64, when string) []Finding {
	var all list
	if n, ok := number("digest_mismatches_count"); ok && n > 0 {
		all.add(Critical, "digest", "compare all servers with warren doctor before any is emptied: the leader may be "+
			"the one with other data. If it is this one: "+RemedyResync,
			"has seen %v txns after which its tree was not the leader's", n)
	}
	open, ok1 := number("open_file_descriptor_count")
	most, ok2 := number("max_file_descriptor_count")
	if ok1 && ok2 && most > 0 {
		const remedy = "raise the limit of open files (LimitNOFILE, ulimit -n) to 65536 or more"
		if open > most*0.8 {
			all.add(Error, "open-files", remedy, "%v of %v file descriptors are used", open, most)
		} else if most < 4096 {
			all.add(Warning, "open-files", remedy, "may open only %v files, and each connection is one", most)
		}
	}
	if n, ok := number("watch_count"); ok && n > 2e6 {
		all.add(Warning, "many-watches", "find out with wchs and wchp who leaves them; persistent recursive "+
			"watches need one each", "keeps %v watches", n)
	}
	if n, ok := number("outstanding_requests"); ok && n >= 1000 {
		all.add(Warning, "outstanding", "look at the disk of the log and at the load",
			"%v requests are waiting", n)
	}
	slow, _ := number("fsync_threshold_exceed_count")
	syncs, counted := number("cnt_fsynctime")
	if ms, ok := number("avg_fsynctime"); ok && ms >= 10 && (!counted || syncs >= syncsMin) {
		all.add(Warning, "fsync",
			"give the log a disk of its own (dataLogDir), with a write cache that survives power loss",
			"one sync takes %v ms on average", ms)
	} else if n := max(slow, slowSyncs); n > 0 {
		all.add(Warning, "fsync",
			"find out what else uses the disk, and give dataLogDir a disk of its own; "+
				"warren doctor DATA_DIR measures it", "%v syncs took longer than fsync.warningthresholdms, %s",
			n, when)
	}
	if n, ok := number("znode_count"); ok && n > ZnodesWarn {
		all.add(Warning, "many-znodes", "see with warren snapshot summary what grows",
			"there are %v znodes", n)
	}
	for _, x := range counters {
		if n, ok := number(x.name); ok && n > 0 {
			all.add(x.severity, x.check, x.remedy, x.what+", "+when, n)
		}
	}
	return all
}

// Counters are the names of the numbers of mntr that tell of what has happened: since the start, or since the last
// word srst. A server that looks again and again takes what was added lately.
func Counters() (names []string) {
	for _, x := range counters {
		names = append(names, x.name)
	}
	return append(names, "fsync_threshold_exceed_count")
}

var counters = []struct {
	name     string
	severity Severity
	check    string
	what     string // with the number
	remedy   string
}{
	{"snapshot_error_count", Error, "snapshot-errors",
		"%v snapshots could not be written: logs pile up, and a start takes longer",
		"look in its log for the reason: space and permissions of dataDir"},
	{"connection_rejected", Notice, "connections-refused",
		"%v connections were refused by a limit: maxClientCnxns of one address, or maxCnxns",
		"find out with cons which address has many: often a client that leaks sessions, or NAT. Else raise " +
			"maxClientCnxns or maxCnxns"},
	{"unsuccessful_handshake", Notice, "tls-handshakes", "%v TLS handshakes of clients failed",
		"look in its log: each line has the address and the reason; secureClientPort is for TLS alone; " +
			"warren doctor --config FILE looks at the certificates"},
	{"tls_handshake_exceeded", Notice, "tls-handshakes",
		"%v connections were closed because too many TLS handshakes were under way",
		"raise netty.server.outstandingHandshake.limit if the processors allow"},
	{"auth_failed_count", Notice, "credentials-refused", "%v times a certificate, a password or a ticket was refused",
		"look in its log: each line has the address and the reason; for certificates, look at " +
			"X509AuthenticationProvider.clientCertIdSanMatchRegex"},
	{"ensemble_auth_fail", Notice, "other-ensemble", "%v clients named another ensemble and were closed",
		"look in its log for their addresses, and correct their connect strings"},
}

// FullSoon is when a disk that fills up is told of.
const FullSoon = 24 * time.Hour

// Disk is the finding of a disk without room, or that has none soon, at the growth of the last hour.
func Disk(full bool, in time.Duration) []Finding {
	var all list
	switch {
	case full:
		all.add(Error, "disk-full", "free space on its data directories: it goes on by itself then",
			"its disk is almost full, by warren.diskWatermarkBytes and warren.diskWatermarkPercent: it takes "+
				"no writes, or will take none when too many other voters have no room either")
	case in > 0 && in < FullSoon:
		all.add(Warning, "disk-full",
			"free space on its data directories, or let old snapshots be purged: autopurge.purgeInterval",
			"at the growth of the last hour its disk has no room in %v", in.Round(time.Minute))
	}
	return all
}

// PendingSyncs is the finding of a leader with many requests sync that wait.
func PendingSyncs(number func(name string) (float64, bool)) []Finding {
	if pending, ok := number("pending_syncs"); ok && pending > 100 {
		return []Finding{find(Warning, "pending-syncs", "look for a slow follower", "%v syncs are waiting", pending)}
	}
	return nil
}
