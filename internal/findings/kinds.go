package findings

import (
	"fmt"
	"time"
)

// Kind is what all findings of one check have in common: how urgent they are, and the alerts that tell of them.
type Kind struct {
	Check      string
	Severities []Severity
	Alerts     []Alert
}

// Alert is an alert rule of Prometheus.
type Alert struct {
	Name string
	// Expr is what it asks Prometheus, by numbers that servers of ZooKeeper have too where there are some. Empty asks
	// for the findings themselves, which servers export as warren_finding.
	Expr string
	For  time.Duration // how long that must last
	// Severity is that of the findings that it tells of; an alert that asks for findings has theirs.
	Severity Severity
	When     string // it fires, in a few words
	// Summary is the line of an alert; the server and the ensemble stand before that of one that asks for findings.
	Summary string
	Do      string
	Page    string // below docs/, with the answer to it
}

// OfFindings returns what an alert asks Prometheus that tells of all findings of a check worse than a notice.
func OfFindings(check string) string {
	return fmt.Sprintf(`max by (job, ensemble, server, severity) (warren_finding{check=%q,severity!="notice"}) == 1`,
		check)
}

const (
	toAlerts  = "METRICS.md#alert-on-these"
	toAny     = "TROUBLESHOOTING.md"
	toMixed   = "runbooks/sort-out-mixed-histories.md"
	toLost    = "runbooks/recover-a-lost-majority.md"
	toSlow    = "runbooks/find-what-is-slow.md"
	toDisk    = "runbooks/full-disk.md"
	toReplace = "runbooks/replace-a-disk.md"
	toTLS     = "runbooks/change-a-certificate.md"
	toBackUp  = "runbooks/back-up.md"

	minutes = time.Minute
)

// Kinds are all kinds of findings that servers have. The alert rules of deploy/prometheus are made from them.
func Kinds() []Kind {
	day := func(d time.Duration) int { return int(d / (24 * time.Hour)) }
	return []Kind{
		{"no-quorum", []Severity{Critical}, []Alert{
			{"NobodyServes", "max by (job, ensemble) (warren_server_serving) == 0", minutes, Critical,
				"no server of the ensemble serves clients: there is no leader",
				"no server of {{ or $labels.ensemble $labels.job }} serves clients",
				"There is no leader, so nothing can be read or written. Start the missing servers; /readyz on the " +
					"others says what they are waiting for.", toLost}}},
		{"several-leaders", []Severity{Notice, Critical}, []Alert{
			{"TwoLeaders", "count by (job, ensemble) (leader_uptime > 0) > 1 and sum by (job, ensemble) " +
				"(quorum_size and leader_uptime > 0) > count by (job, ensemble) (up)", minutes, Critical,
				"two leaders claim the same servers",
				"{{ or $labels.ensemble $labels.job }} has {{ $value }} leaders",
				"Compare the server.N lines of all servers. Two leaders mean that servers disagree about who " +
					"belongs to the ensemble.", toMixed}}},
		{"no-spare", []Severity{Notice, Error}, []Alert{
			{"NoSpareVoter", "synced_followers < quorum_size - 1 and (warren_zab_spare_voters == 0 or " +
				"(synced_followers == floor(quorum_size / 2) unless warren_zab_spare_voters))", 10 * minutes, Error,
				"if one more voter fails, writes stop",
				"the ensemble of {{ $labels.instance }} cannot lose another voter",
				"The leader has exactly as many voters in sync as a quorum needs. If one more fails, all writes " +
					"stop. Start the missing voter, or replace it.", toReplace}}},
		{"unreachable", []Severity{Notice, Error}, []Alert{
			{"ServerDown", `up{ensemble!=""} == 0 or (up == 0 and on (job, instance) last_over_time(znode_count[1d]))`,
				2 * minutes, Error, "a server cannot be scraped for 2 minutes",
				"{{ $labels.instance }} cannot be scraped",
				"The process is gone, or its metrics port cannot be reached. Look at the service manager and the " +
					"server's log.", toAny},
			{"ServerUnreachable", OfFindings("unreachable") + " unless on (job, ensemble) up == 0", 5 * minutes, Error,
				"other servers cannot reach a server, although Prometheus can scrape them all",
				"the other servers cannot reach it, although it can be scraped",
				"Look at the network and the firewalls between the servers: the client ports and both ports of the " +
					"server.N lines must be open in both directions.", toAny}}},
		{"not-serving", []Severity{Notice, Error}, []Alert{
			{"NotServing", "warren_server_serving == 0 and on (job, ensemble) max by (job, ensemble) " +
				"(warren_server_serving) == 1", 5 * minutes, Error, "a server runs without serving clients for 5 " +
				"minutes",
				"{{ $labels.instance }} is running, but does not serve clients",
				"The other servers serve clients. /readyz on this one says what it is waiting for.", toAny}}},
		{"read-only", []Severity{Error}, []Alert{
			{"ServesReadsOnly", "", 5 * minutes, Error, "a server is cut off from the quorum and serves only reads",
				"it is cut off from the quorum and serves only reads",
				"Look at the network between the servers. Its clients read data that may be out of date.", toAny}}},
		{"stalled", []Severity{Critical}, []Alert{
			{"ServerStalled", "", minutes, Critical, "a server does nothing: its clients wait for its locks",
				"it does nothing, and its clients are waiting",
				"Keep the goroutine stacks that kill -3 writes to its log, for a bug report, and restart it.",
				toAny}}},
		{"outside", []Severity{Critical}, []Alert{
			{"OutsideTheEnsemble", "warren_zab_outside > 0", minutes, Critical,
				"a server's directory has another history",
				"{{ $labels.instance }} stays outside its ensemble: its directory has another history",
				"The others keep serving. Find out where the directory comes from, then run warren adopt.", toMixed}}},
		{"other-history", []Severity{Error}, []Alert{
			{"HistoriesDiffer", "warren_zab_strangers > 0", minutes, Error,
				"a server knows members with another history",
				"{{ $labels.instance }} knows {{ $value }} members with another history",
				"Neither side counts the other. The log and the command zabstate have the reasons.", toMixed}}},
		{"databases-missing", []Severity{Critical}, []Alert{
			{"DatabasesLost", "warren_zab_blank_voters > 0", minutes, Critical,
				"voters without a database prevent an election",
				"{{ $value }} voters without a database keep the ensemble of {{ $labels.instance }} from electing a " +
					"leader",
				"The data of the other voters is not lost. The log and /readyz say what to do; see also warren " +
					"recover.", toLost}}},
		{"blank", []Severity{Warning}, []Alert{
			{"DatabaseMissing", "", 5 * minutes, Warning, "a server's database is missing, and no leader brings it " +
				"up to date",
				"its database is missing, and no leader brings it up to date",
				"Find out whether its disk is mounted. It gets the data from a leader as soon as a majority of the " +
					"other voters is up.", toReplace}}},
		{"same-id", []Severity{Critical}, []Alert{
			{"TwoServersWithOneID", "", minutes, Critical, "two servers have the same id",
				"two servers have this id", "Stop the wrong one, or give it an id of its own in myid. The log and " +
					"warren status have both addresses.", toMixed + "#two-servers-with-one-id"}}},
		{"not-in-ensemble", []Severity{Critical}, []Alert{
			{"RunsAlone", "", minutes, Critical, "a server runs alone beside the ensemble",
				"it runs alone beside the others, and its clients see another tree",
				"Correct its zoo.cfg: it needs the same server.N lines as the others. No other server has the data " +
					"written to it.", toAny}}},
		{"different-members", []Severity{Notice, Error}, []Alert{
			{"ServerListsDiffer", "", 5 * minutes, Error, "servers have different lists of servers",
				"its list of servers differs from the others'",
				"Compare server.N in the zoo.cfg or zoo.cfg.dynamic.* of all servers, and make the lines the same.",
				"runbooks/change-the-list-by-restarts.md"}}},
		{"different-settings", []Severity{Warning}, []Alert{
			{"SettingsDiffer", "", 15 * minutes, Warning, "a setting that should be the same everywhere is not",
				"a setting that should be the same on all servers is not",
				"warren status names the setting and the values. Make it the same in every zoo.cfg.",
				"CONFIGURATION.md"}}},
		{"lag", []Severity{Warning, Error}, []Alert{
			{"FarBehind", "", 5 * minutes, Error, "a server stays far behind the leader",
				"it is far behind the leader",
				"Look at its disk, its network and its log. If it stays behind, restart it.", toSlow}}},
		{"clock", []Severity{Warning, Error}, []Alert{
			{"ClocksDiffer", "", 15 * minutes, Error,
				fmt.Sprintf("a server's clock differs from the leader's by %v or more", skewWarn),
				"its clock differs from the leader's", "Let NTP set the clocks. ctime, mtime and TTLs come from the " +
					"leader's clock.", toAny}}},
		{"digest", []Severity{Critical}, []Alert{
			{"TreeDiverged", "digest_mismatches_count > 0", 0, Critical, "a tree is not what the log says",
				"the tree of {{ $labels.instance }} differs from what its log says",
				"Run warren doctor on all servers before you empty any of them, and keep the directory as evidence " +
					"of the fault.", toMixed}}},
		{"open-files", []Severity{Warning, Error}, []Alert{
			{"FileLimitNear", fmt.Sprintf("open_file_descriptor_count > %v * max_file_descriptor_count", mostFiles),
				minutes, Error, fmt.Sprintf("more than %v %% of the file descriptors are in use", 100*mostFiles),
				"{{ $labels.instance }} uses {{ $value | humanize }} file descriptors and will soon refuse " +
					"connections",
				"Raise the limit of open files (LimitNOFILE, ulimit -n), or find the client that leaks connections.",
				toAlerts},
			{"FileLimitLow", fmt.Sprintf("max_file_descriptor_count < %d and on (job, instance) znode_count",
				fewFiles),
				15 * minutes, Warning, fmt.Sprintf("a server may open fewer than %d files", fewFiles),
				"{{ $labels.instance }} may open only {{ $value }} files, and each connection is one",
				"Raise the limit of open files (LimitNOFILE, ulimit -n) to 65536 or more.", toAlerts}}},
		{"memory", []Severity{Warning}, []Alert{
			{"MemoryNearLimit", fmt.Sprintf(`jvm_memory_bytes_used{area="heap"} / `+
				`jvm_memory_bytes_max{area="heap"} > %v and on (job, instance) znode_count`, mostMemory),
				10 * minutes, Warning,
				fmt.Sprintf("more than %v %% of the memory is in use for 10 minutes", 100*mostMemory),
				"{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its memory",
				"All znodes are in memory. Find out what grows with warren top, and raise the memory limit before " +
					"it is reached.", toSlow}}},
		{"many-znodes", []Severity{Warning}, []Alert{
			{"ManyZnodes", fmt.Sprintf("znode_count > %d", ZnodesWarn), 10 * minutes, Warning,
				fmt.Sprintf("more than %d million znodes", ZnodesWarn/1_000_000),
				"{{ $labels.instance }} has {{ $value | humanize }} znodes",
				"Look for a client that creates sequential znodes and never deletes them. warren snapshot summary " +
					"shows where they are.", toSlow}}},
		{"many-watches", []Severity{Warning}, []Alert{
			{"ManyWatches", fmt.Sprintf("watch_count > %d", manyWatches), 10 * minutes, Warning,
				fmt.Sprintf("more than %d million watches", manyWatches/1_000_000),
				"{{ $labels.instance }} keeps {{ $value | humanize }} watches",
				"The words wchs and wchp list them. One persistent recursive watch can replace many.", toSlow}}},
		{"outstanding", []Severity{Warning}, []Alert{
			{"HeldBack", fmt.Sprintf("avg_over_time(outstanding_requests[5m]) > %d", manyWaiting), 5 * minutes,
				Warning,
				fmt.Sprintf("more than %d requests in progress on average", manyWaiting),
				"{{ $labels.instance }} has {{ $value | humanize }} requests in progress",
				"Clients send more than the disk or the followers can handle.", toSlow}}},
		{"pending-syncs", []Severity{Warning}, []Alert{
			{"SyncsWait", fmt.Sprintf("avg_over_time(pending_syncs[5m]) > %d", manySyncs), 5 * minutes, Warning,
				fmt.Sprintf("more than %d requests sync are waiting on average", manySyncs),
				"{{ $value | humanize }} requests sync are waiting at {{ $labels.instance }}",
				"Look for a slow follower.", toSlow}}},
		{"fsync", []Severity{Warning}, []Alert{
			{"SlowSync", fmt.Sprintf("rate(fsynctime_sum[5m]) / rate(fsynctime_count[5m]) > %d", slowSyncMs),
				10 * minutes, Warning, fmt.Sprintf("a sync of the log takes more than %d ms on average", slowSyncMs),
				"a sync of the log of {{ $labels.instance }} takes {{ $value | humanize }} ms",
				"Every write waits for the disk of dataLogDir. Find out what else uses it, or give the log a disk " +
					"of its own.", toSlow},
			{"DiskStalls", "increase(warren_wal_slow_syncs_total[10m]) > 0", 15 * minutes, Warning,
				"again and again, a sync of the log takes longer than `fsync.warningthresholdms`",
				"the disk of {{ $labels.instance }} keeps stalling: {{ $value | humanize }} syncs within 10 minutes " +
					"took longer than fsync.warningthresholdms",
				"Find out what else uses the disk, and give dataLogDir a disk of its own; warren doctor DATA_DIR " +
					"measures it.", toSlow}}},
		{"disk-full", []Severity{Warning, Error}, []Alert{
			{"DiskAlmostFull", "warren_server_disk_full > 0", 0, Error,
				"less free space than the watermark; an ensemble continues while a majority of the voters has room",
				"the disk of {{ $labels.instance }} is almost full",
				"An ensemble accepts writes while a majority of its voters has room. Free space on this server.",
				toDisk},
			{"DiskFullSoon", fmt.Sprintf("warren_server_disk_full_in_seconds >= 0 and "+
				"warren_server_disk_full_in_seconds < %d and on (job, instance) warren_server_disk_full == 0",
				int(FullSoon.Seconds())), 10 * minutes, Warning,
				"no room within a day, at the growth of the last hour",
				"the disk of {{ $labels.instance }} will be full in {{ $value | humanizeDuration }}",
				"This assumes the last hour's growth. Free space, or find out who writes so much.", toDisk}}},
		{"snapshot-errors", []Severity{Error}, []Alert{
			{"SnapshotsFail", "increase(snapshot_error_count[1h]) > 0", 0, Error,
				"a snapshot could not be written, and logs pile up", "{{ $labels.instance }} cannot write snapshots",
				"Until it can, the log of txns keeps everything and grows. The server's log has the reason.",
				toDisk}}},
		{"purge-errors", []Severity{Warning}, []Alert{
			{"PurgesFail", "", 5 * minutes, Warning, "old snapshots or logs cannot be removed, and the disk fills up",
				"old snapshots and logs cannot be removed", "The disk fills up. /readyz, warren status and the " +
					"server's log have the reason.", toDisk}}},
		{"backup", []Severity{Warning}, []Alert{
			{"BackupTooOld", fmt.Sprintf("time() - warren_backup_last_success_timestamp_seconds > %d",
				int(BackupOld.Seconds())), 0, Warning,
				fmt.Sprintf("by the metrics of `warren backup create`, the last good backup is more than %d days old",
					day(BackupOld)),
				"the last good backup on {{ $labels.instance }} ended {{ $value | humanizeDuration }} ago",
				"Look at the job that runs warren backup create.", toBackUp},
			{"NoRecentBackup", "", 15 * minutes, Warning,
				fmt.Sprintf("the folders of `warren.console.backups` have no backup of the last %d days",
					day(BackupOld)),
				fmt.Sprintf("no folder of warren.console.backups has a backup of the last %d days", day(BackupOld)),
				"Look at the job that runs warren backup create, and at its output.", toBackUp}}},
		{"certificate", []Severity{Warning, Critical}, []Alert{
			{"CertificateExpires", "", 15 * minutes, Critical, fmt.Sprintf("a certificate of the client ports, the "+
				"ports between servers or the admin port has expired, or expires within %d days",
				day(CertificateSoon)),
				fmt.Sprintf("one of its certificates has expired, or expires within %d days", day(CertificateSoon)),
				"warren status says which one. Replace the file with a new one. It is read without a restart, " +
					"unless reloading is switched off.", toTLS},
			{"QuorumCertificateExpires", fmt.Sprintf("warren_tls_quorum_certificate_expiry_timestamp_seconds - "+
				"time() "+
				"< %d * 86400", day(certificateUrgent)), 0, Critical, fmt.Sprintf("the certificate between servers "+
				"expires within %d days; afterwards the ensemble stops", day(certificateUrgent)),
				"the certificate that {{ $labels.instance }} shows to other servers expires in {{ $value | " +
					"humanizeDuration }}",
				"Afterwards the servers refuse each other and the ensemble stops. Replace the file with a new " +
					"certificate; it is read without a restart.", toTLS}}},
		{"config", []Severity{Error}, []Alert{
			{"NextStartFails", "", 15 * minutes, Error, "a server would not start again with its current " +
				"configuration",
				"it would not start again with its current configuration",
				"Correct it before the next restart; warren config check FILE shows all problems.", toAny}}},
		{"restarts", []Severity{Error}, []Alert{
			{"RestartsInALoop", fmt.Sprintf("changes(process_start_time_seconds[1h]) >= %d and on (job, instance) "+
				"last_over_time(znode_count[1d])", RestartsMany), 0, Error,
				fmt.Sprintf("a server has started %d or more times within an hour", RestartsMany),
				"{{ $labels.instance }} has restarted {{ $value }} times within an hour",
				"In its log, the last lines of each run have the error and the exit code.",
				"OPERATIONS.md#exit-codes"}}},
		{"name", []Severity{Warning, Error}, []Alert{
			{"NamesUnresolved", "", 15 * minutes, Warning, "a server cannot resolve the names of the others",
				"it cannot resolve the names of other servers", "Repair the name server, or correct the names in " +
					"the server.N lines. No restart is needed. Meanwhile it keeps the last known addresses.", toAny}}},
		{"connection-limit", []Severity{Warning}, []Alert{
			{"ConnectionLimitNear", "", 5 * minutes, Warning,
				"one address has almost as many connections as `maxClientCnxns` allows",
				"one address has almost as many connections as maxClientCnxns allows",
				"Check whether that client forgets to close sessions, or raise maxClientCnxns. The word cons lists " +
					"connections by address.", toAny}}},
		{"connections-refused", []Severity{Notice}, []Alert{
			{"ConnectionsRefused", "increase(connection_rejected[5m]) > 10", 0, Notice, "more than 10 connections " +
				"refused by a limit in 5 minutes; `warren_server_connections_refused_total` has the reason",
				"{{ $labels.instance }} has refused {{ $value | humanize }} connections",
				"A limit is reached: maxClientCnxns, maxCnxns or the connection throttle. The word cons lists " +
					"connections by address.", toAny}}},
		{"credentials-refused", []Severity{Notice}, []Alert{
			{"AuthenticationFails", "delta(auth_failed_count[5m]) > 10", 0, Notice,
				"more than 10 credentials refused in 5 minutes",
				"{{ $labels.instance }} has refused credentials {{ $value | humanize }} times",
				"A client has wrong credentials, or a program guesses passwords. The log has the addresses.",
				"runbooks/add-users.md"}}},
		{"tls-handshakes", []Severity{Notice}, []Alert{
			{"HandshakesFail", "increase(unsuccessful_handshake[5m]) > 10", 0, Notice,
				"more than 10 TLS handshakes of clients failed in 5 minutes",
				"{{ $value | humanize }} TLS handshakes with {{ $labels.instance }} failed",
				"A certificate has expired, or one side does not trust the other. The log has addresses and reasons.",
				toTLS}}},
		{"drained", []Severity{Notice}, []Alert{
			{"StillDrained", "warren_server_draining > 0", time.Hour, Notice, "a server has been drained for an hour",
				"{{ $labels.instance }} has been drained for an hour and accepts no clients",
				"End the maintenance with warren drain --resume.", "runbooks/drain.md"}}},
		// These are no reason for an alert. Only commands have not-known as an error: on a machine that resolves no
		// name.
		{"not-known", []Severity{Notice, Error}, nil},
		{"other-ensemble", []Severity{Notice}, nil},
		{"stopped", []Severity{Notice}, nil},
		{"election", []Severity{Notice}, nil},
		{"leader-not-asked", []Severity{Notice}, nil},
		{"different-versions", []Severity{Notice}, nil},
	}
}
