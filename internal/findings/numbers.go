package findings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"
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

	alone bool // no other server is known, from which the text would have to tell this one
}

// Text is what is wrong, with the server.
func (f *Finding) Text() string {
	if f.Server == NoServer || f.Server == 0 && f.alone {
		return f.What
	}
	return fmt.Sprintf("server %d: %s", f.Server, f.What)
}

type list []Finding

func (l *list) add(s Severity, check, remedy, format string, args ...any) {
	*l = append(*l, find(s, check, remedy, format, args...))
}

// The numbers from which on there is a finding, and an alert.
const (
	ZnodesWarn  = 5_000_000
	manyWatches = 2_000_000
	manyWaiting = 1000 // requests
	manySyncs   = 100  // requests sync that wait
	slowSyncMs  = 10   // on average
	syncsMin    = 100  // that such an average needs before it says something about the disk
	mostFiles   = 0.8  // of the file descriptors
	fewFiles    = 4096 // that a process may open
	mostMemory  = 0.8  // of the memory
)

// RemedyResync is what to do about a server with other data than it should have.
const RemedyResync = "if the other servers of the ensemble are healthy, replace this one: move its version-2 " +
	"directories away, and let it synchronize; otherwise warren restore from a backup, or warren wal repair, " +
	"which says what it would lose"

// SinceStart is when the events of counters happened that only mntr tells of.
const SinceStart = "since its start or the last srst"

func txns(n float64) string {
	if n == 1 {
		return "one txn"
	}
	return fmt.Sprintf("%.0f txns", n)
}

// Numbers are the findings from what mntr prints, whose numbers have there the prefix zk_, and from the syncs of
// the log above fsync.warningthresholdms. when says since when the Counters count.
func Numbers(number func(name string) (float64, bool), slowSyncs float64, when string) []Finding {
	var all list
	if n, ok := number("digest_mismatches_count"); ok && n > 0 {
		all.add(Critical, "digest", "compare all servers with warren doctor before any is emptied: the leader may be "+
			"the one with other data. If it is this one: "+RemedyResync,
			"its tree differed from the leader's after %s", txns(n))
	}
	open, ok1 := number("open_file_descriptor_count")
	most, ok2 := number("max_file_descriptor_count")
	byFiles, _ := number(refusedByFiles)
	if ok1 && ok2 && most > 0 {
		const remedy = "raise the limit of open files (LimitNOFILE, ulimit -n) to 65536 or more"
		if byFiles > 0 {
			all.add(Error, "open-files", remedy, "%v of %v file descriptors are used, and %v connections were "+
				"refused, "+
				"because the last ones are for files and other servers, %s", open, most, byFiles, when)
		} else if open > most*mostFiles {
			all.add(Error, "open-files", remedy, "%v of %v file descriptors are used", open, most)
		} else if most < fewFiles {
			all.add(Warning, "open-files", remedy, "may open only %v files, and each connection is one", most)
		}
	}
	if n, ok := number("watch_count"); ok && n > manyWatches {
		all.add(Warning, "many-watches", "wchs and wchp show who leaves them; one persistent recursive watch can "+
			"replace many", "keeps %v watches", n)
	}
	if n, ok := number("outstanding_requests"); ok && n > manyWaiting {
		all.add(Warning, "outstanding", "look at the disk of the log and at the load",
			"%v requests are waiting", n)
	}
	slow, _ := number("fsync_threshold_exceed_count")
	syncs, counted := number("cnt_fsynctime")
	if ms, ok := number("avg_fsynctime"); ok && ms > slowSyncMs && (!counted || syncs >= syncsMin) {
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
		all.add(Warning, "many-znodes", "warren snapshot summary shows what grows",
			"there are %v znodes", n)
	}
	for _, x := range counters {
		n, ok := number(x.name)
		if x.name == "connection_rejected" {
			n -= byFiles
		}
		if ok && n == 1 {
			all.add(x.severity, x.check, x.remedy, "%s, %s", x.one, when)
		} else if ok && n > 0 {
			all.add(x.severity, x.check, x.remedy, x.more+", "+when, n)
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
	return append(names, "fsync_threshold_exceed_count", refusedByFiles)
}

// refusedByFiles counts connections that were refused because few file descriptors are left; connection_rejected
// counts them as well.
const refusedByFiles = "connections_refused_descriptors"

var counters = []struct {
	name     string
	severity Severity
	check    string
	one      string // of one event
	more     string // of several, with their number
	remedy   string
}{
	{"snapshot_error_count", Error, "snapshot-errors",
		"1 snapshot could not be written: logs pile up, and a start takes longer",
		"%v snapshots could not be written: logs pile up, and a start takes longer",
		"look in its log for the reason: space and permissions of dataDir"},
	{"connection_rejected", Notice, "connections-refused",
		"1 connection was refused by a limit: maxClientCnxns of one address, maxCnxns or the connection throttle",
		"%v connections were refused by a limit: maxClientCnxns of one address, maxCnxns or the connection " +
			"throttle",
		"see with cons which address has many: often a client that leaks sessions, or NAT. Otherwise raise " +
			"maxClientCnxns or maxCnxns"},
	{"unsuccessful_handshake", Notice, "tls-handshakes", "1 TLS handshake of a client failed",
		"%v TLS handshakes of clients failed",
		"look in its log: each line has the address and the reason; secureClientPort is for TLS alone; " +
			"warren doctor --config FILE looks at the certificates"},
	{"tls_handshake_exceeded", Notice, "tls-handshakes",
		"1 connection was closed because too many TLS handshakes were under way",
		"%v connections were closed because too many TLS handshakes were under way",
		"raise netty.server.outstandingHandshake.limit if the CPUs can take it"},
	{"auth_failed_count", Notice, "credentials-refused", "a certificate, a password or a ticket was refused once",
		"a certificate, a password or a ticket was refused %v times",
		"look in its log: each line has the address and the reason; for certificates, look at " +
			"X509AuthenticationProvider.clientCertIdSanMatchRegex"},
	{"ensemble_auth_fail", Notice, "other-ensemble", "1 client named another ensemble and was turned away",
		"%v clients named another ensemble and were turned away",
		"look in its log for their addresses, and correct their connect strings"},
}

// FullSoon is when a disk that fills up is told of.
const FullSoon = 24 * time.Hour

// Disk is the finding of a disk without room, or that has none soon, at the growth of the last hour.
func Disk(full bool, in time.Duration) []Finding {
	var all list
	switch {
	case full:
		all.add(Error, "disk-full", "free space on its disk: the server recovers by itself",
			"its disk has less free space than warren.diskWatermarkBytes and warren.diskWatermarkPercent ask "+
				"for: it refuses writes, or will when too many other voters have no room either")
	case in > 0 && in < FullSoon:
		all.add(Warning, "disk-full",
			"free space on its disk, or have old snapshots purged: autopurge.purgeInterval",
			"at the growth rate of the last hour, its disk will be full in %v", in.Round(time.Minute))
	}
	return all
}

// CertificateSoon is how long before its end a certificate is told of.
const CertificateSoon = 30 * 24 * time.Hour

// certificateUrgent is how long before its end one that an ensemble cannot do without is worth an alert of its own.
const certificateUrgent = 14 * 24 * time.Hour

// Certificate is the finding of a certificate that has ended, or ends soon. of says which one it is.
func Certificate(of string, ends, now time.Time) []Finding {
	const remedy = "renew it: a new file in its place is read without a restart, unless reloading is switched off; " +
		"warren doctor --config FILE looks at it"
	var all list
	switch left := ends.Sub(now); {
	case ends.IsZero():
	case left <= 0:
		all.add(Critical, "certificate", remedy, "%s expired at %s: peers that verify it refuse to connect", of,
			ends.UTC().Format(time.RFC3339))
	case left < CertificateSoon:
		all.add(Warning, "certificate", remedy, "%s expires at %s", of, ends.UTC().Format(time.RFC3339))
	}
	return all
}

// NextStart is the finding of a configuration that was changed so that no server can start with it; nil is none.
func NextStart(err error) []Finding {
	if err == nil {
		return nil
	}
	what, more, _ := strings.Cut(strings.TrimPrefix(err.Error(), "config: "), "\n")
	if more != "" {
		what += "; and more"
	}
	return []Finding{find(Error, "config", "correct it before the next restart; warren config check FILE shows all "+
		"that is wrong with it", "is running, but would not start again with its current configuration: %s", what)}
}

// BackupOld is how old the newest backup may be without a finding.
const BackupOld = 48 * time.Hour

// Backups is the finding of backups that are too old. newest is when the newest one was made; zero if there is none.
func Backups(newest, now time.Time) []Finding {
	const remedy = "look at the job that runs warren backup create, and at its output"
	var all list
	switch age := now.Sub(newest); {
	case newest.IsZero():
		all.add(Warning, "backup", remedy, "no folder of warren.console.backups has a complete backup")
	case age > BackupOld:
		all.add(Warning, "backup", remedy, "the newest backup in the folders of warren.console.backups is %d hours "+
			"old", int(age.Hours()))
	}
	return all
}

// Purge is the finding of old snapshots and logs that cannot be removed; nil is none.
func Purge(trouble error) []Finding {
	if trouble == nil {
		return nil
	}
	var file *fs.PathError
	if errors.As(trouble, &file) {
		trouble = fmt.Errorf("%s: %w", file.Path, file.Err)
	}
	const remedy = "look at the file that it names, its permissions and its mount; if no snapshot is intact, check " +
		"them with warren snapshot verify; it tries again after the next snapshot and each autopurge.purgeInterval"
	return []Finding{find(Warning, "purge-errors", remedy,
		"old snapshots and logs cannot be removed, so its disk fills up: %v", trouble)}
}

// Restarts that are told, and the time in which so many of them are.
const (
	RestartsMany   = 5
	RestartsWithin = 10 * time.Minute
)

// Restarts is the finding of a process that ends and is started again and again. starts are when processes of this
// server have begun since one of them was last stopped in an orderly way, this one included, the oldest first.
func Restarts(starts []time.Time, now time.Time) []Finding {
	recent := 0
	for _, at := range starts {
		if now.Sub(at) < RestartsWithin {
			recent++
		}
	}
	if recent--; recent < RestartsMany { // the first of them is none
		return nil
	}
	const remedy = "look at the end of each run in its log, which has the error and the exit code, and whether the " +
		"system has killed it for its memory"
	return []Finding{find(Error, "restarts", remedy,
		"ended unexpectedly and was started again %d times within %d minutes", recent,
		int(RestartsWithin.Minutes()))}
}

// ConnectionLimit is the finding of addresses that have, or almost have, as many connections as an address may; limit
// 0 is none.
func ConnectionLimit(perAddress map[string]int, limit int) []Finding {
	var all list
	for _, address := range slices.Sorted(maps.Keys(perAddress)) {
		if n := perAddress[address]; limit > 0 && n*5 >= limit*4 {
			all.add(Warning, "connection-limit",
				"check whether that client forgets to close sessions, or raise maxClientCnxns",
				"%s has %d of at most %d connections", address, n, limit)
		}
	}
	return all
}

// Name is the name of a host that the name server does not resolve.
type Name struct {
	Host      string
	Addresses []netip.Addr // of the last answer; none if there was none
	Trouble   string       // why it is not resolved
	Since     time.Time
}

// Names is the finding of names of servers that this one cannot resolve.
func Names(names []Name) []Finding {
	if len(names) == 0 {
		return nil
	}
	var hosts, why []string
	since := names[0].Since
	for _, n := range names {
		known := "no address is known"
		if len(n.Addresses) > 0 {
			known = strings.Trim(fmt.Sprint(n.Addresses), "[]")
		}
		hosts = append(hosts, fmt.Sprintf("%s (%s)", n.Host, known))
		if !slices.Contains(why, n.Trouble) {
			why = append(why, n.Trouble)
		}
		if n.Since.Before(since) {
			since = n.Since
		}
	}
	f := find(Warning, "name", "repair the name server, or correct the names in the server.N lines; no restart is "+
		"needed", "cannot resolve %s: %s. It keeps the last known addresses, and will not find a server that moves",
		strings.Join(hosts, ", "), strings.Join(why, "; "))
	f.Since = since
	return []Finding{f}
}

// Memory is the finding of a process whose live objects, in bytes, come near its limit.
func Memory(live, limit int64) []Finding {
	var all list
	if live > int64(mostMemory*float64(limit)) {
		all.add(Warning, "memory", "find out what grows, with warren top and warren snapshot summary; raise the "+
			"memory of the machine or container, or GOMEMLIMIT",
			"its data takes %d MiB of memory, and the limit is %d MiB", live>>20, limit>>20)
	}
	return all
}

// PendingSyncs is the finding of a leader with many requests sync that wait.
func PendingSyncs(number func(name string) (float64, bool)) []Finding {
	if pending, ok := number("pending_syncs"); ok && pending > manySyncs {
		return []Finding{find(Warning, "pending-syncs", "look for a slow follower", "%v sync requests are waiting",
			pending)}
	}
	return nil
}
