package config

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// -update writes docs/CONFIGURATION.md: go test ./server/config -run TestReference -update.
var update = flag.Bool("update", false, "write docs/CONFIGURATION.md")

const referenceFile = "../../docs/CONFIGURATION.md"

const referenceHead = "# Configuration\n\n" +
	"This page lists every setting of a server. It is generated from the code that reads the settings.\n\n" +
	"## Where a setting comes from\n\n" +
	"| the first of these that has it | form |\n| --- | --- |\n" +
	"| the command line | `-D key=value`, `--set key=value`, or a flag such as `--data-dir` |\n" +
	"| the environment | `WARREN_KEY=value`, the variable in the tables below; `WARREN_SERVER_1=...` for " +
	"`server.1` |\n" +
	"| what ZooKeeper's scripts read | `-Dkey=value` in `JVMFLAGS` or `SERVER_JVMFLAGS`; the level in " +
	"`ZOO_LOG4J_PROP` or `ZOO_LOG_LEVEL`; `ZOO_DATADIR_AUTOCREATE_DISABLE` |\n" +
	"| the file | `key=value` in `zoo.cfg` |\n| the default | |\n\n" +
	"There is one exception, which is ZooKeeper's own: for keys of kind *property*, a line in the file overrides " +
	"all others,\n" +
	"and a warning says so. Every key may be written with or without the prefix `zookeeper.`. Unknown keys, JVM " +
	"options such\n" +
	"as `-Xmx1g`, and keys that only tune a JVM are accepted, with one warning.\n\n" +
	"| kind | where ZooKeeper reads it |\n| --- | --- |\n" +
	"| file | from `zoo.cfg` only |\n" +
	"| property | as the system property `zookeeper.KEY`, from `zoo.cfg` or `-D` |\n" +
	"| bare | as the system property `KEY`, from `-D` only; Warren reads it from the file too |\n" +
	"| Warren | not at all |\n\n" +
	"`warren config check FILE` reports every problem in a file with its line and rule, what this machine lacks to " +
	"start with the file, and what ZooKeeper would read differently.\n\n" +
	"## The container image\n\n" +
	"If any of the official image's variables is set, `warren server` without a file does what the image's " +
	"entry point does:\n" +
	"it writes `$ZOO_CONF_DIR/zoo.cfg` and `$ZOO_DATA_DIR/myid` (from `ZOO_MY_ID`) if they don't exist, and starts " +
	"with that\nfile.\n\n" +
	"| variable | default | line of zoo.cfg |\n| --- | --- | --- |\n"

const referenceBitnami = "### Bitnami's image\n\n" +
	"If `ALLOW_ANONYMOUS_LOGIN`, `ALLOW_EMPTY_PASSWORD` or `ZOO_ENABLE_AUTH` is set, the variables are " +
	"those of the image\n" +
	"bitnami/zookeeper, which doesn't start without one of them. `zoo.cfg` and `zoo_jaas.conf` are created in\n" +
	"`/opt/bitnami/zookeeper/conf`, and `myid` in `/bitnami/zookeeper/data`, if they don't exist. `NAME_FILE` " +
	"names a file\n" +
	"that has the value of `NAME`. The values yes, true and 1 turn a variable on. The official image's variables " +
	"then have\nno effect, and a warning names them.\n\n" +
	"| variable | default | line of zoo.cfg |\n| --- | --- | --- |\n"

// bitnamiRest are the variables of Bitnami's image that don't stand for a line each.
const bitnamiRest = "| `ZOO_SERVER_ID` | `1` | `myid` |\n" +
	"| `WARREN_MIN_SERVER_ID` | | `myid` of a pod without `ZOO_SERVER_ID`: this number, and the one at the end of " +
	"`POD_NAME` or `HOSTNAME`; Warren's own |\n" +
	"| `ZOO_SERVERS` | | a list of `host:port:port` or `host:port:port::id`, with `:observer` after the ports of " +
	"observers: `server.N=` lines, if there are two or more, or `ZOO_RECONFIG_ENABLED` |\n" +
	"| `ZOO_ENABLE_AUTH` | `no` | `sessionRequireClientSASLAuth=true`, `authProvider.1=`, a JAAS " +
	"file with these: |\n" +
	"| `ZOO_SERVER_USERS`, `ZOO_SERVER_PASSWORDS` | | lists of the same length: the section `Server` |\n" +
	"| `ZOO_CLIENT_USER`, `ZOO_CLIENT_PASSWORD` | | the section `Client` |\n" +
	"| `ZOO_ENABLE_QUORUM_AUTH` | `no` | `quorum.auth.*=`, a JAAS file with these: |\n" +
	"| `ZOO_QUORUM_SERVER_USERS`, `ZOO_QUORUM_SERVER_PASSWORDS` | | the section `QuorumServer` |\n" +
	"| `ZOO_QUORUM_LEARNER_USER`, `ZOO_QUORUM_LEARNER_PASSWORD` | | the section `QuorumLearner` |\n" +
	"| `ZOO_TLS_CLIENT_ENABLE` | `no` | the lines for `secureClientPort`, and no `clientPort` |\n" +
	"| `ZOO_TLS_QUORUM_ENABLE` | `no` | `sslQuorum=true` |\n" +
	"| `ZOO_ENABLE_PROMETHEUS_METRICS` | `no` | `metricsProvider.*=` |\n" +
	"| `ZOO_PROMETHEUS_METRICS_PORT_NUMBER` | `7000` | `metricsProvider.httpPort=` |\n" +
	"| `ZOO_CFG_KEY` | | `KEY=`, with a dot for each underscore |\n" +
	"| `WARREN_SUPER_PASSWORD` | | `DigestAuthenticationProvider.superDigest=` of the user `super` with this " +
	"password; Warren's own |\n" +
	"| `ZOO_LOG_LEVEL`, `JVMFLAGS` | | see above |\n" +
	"| `ZOO_HEAP_SIZE`, `ZOO_HC_TIMEOUT` | | none: there is no heap to set, and `warren health` has `--timeout` |\n\n"

const referenceTail = "## While the server runs\n\n" +
	"The column *restart* says whether a changed setting needs one. Three things change without a restart:\n\n" +
	"| what | how |\n| --- | --- |\n" +
	"| `warren.logLevel` | SIGHUP makes the server reread its file; or use `warren loglevel` |\n" +
	"| the content of key stores and trust stores | reloaded when the files change (`client.certReload`, " +
	"`sslQuorumReloadCertFiles`); those of the client ports also on SIGHUP |\n" +
	"| the servers of the ensemble, with their roles and ports | `reconfig`, if `reconfigEnabled=true` |\n\n" +
	"The unit *ms* means that the file has a number of milliseconds, even if the default is shown in another unit.\n\n"

// TestReference compares docs/CONFIGURATION.md with the settings.
func TestReference(t *testing.T) {
	text := reference(t)
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, []byte(text), 0o644))
	}
	got := must.ReadFile(t, referenceFile)
	want, have := strings.Split(text, "\n"), strings.Split(string(got), "\n")
	for i := range min(len(want), len(have)) {
		require.Equal(t, want[i], have[i], "line %d: run go generate ./server/config", i+1)
	}
	require.Len(t, have, len(want), "run go generate ./server/config")
}

func reference(t *testing.T) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, line := range imageLines {
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s=` |\n", line[1], imageDefaults[line[1]], line[0])
	}
	fmt.Fprintf(&b, "| `ZOO_SERVERS` | `%s` | one line per word |\n", imageDefaults["ZOO_SERVERS"])
	b.WriteString("| `ZOO_4LW_COMMANDS_WHITELIST` | | `4lw.commands.whitelist=` |\n" +
		"| `ZOO_CFG_EXTRA` | | one line per word |\n")
	fmt.Fprintf(&b, "| `ZOO_CONF_DIR` | `%s` | |\n| `ZOO_MY_ID` | `1` | `myid` |\n\n", imageDefaults["ZOO_CONF_DIR"])
	b.WriteString(referenceBitnami)
	for _, l := range slices.Concat(bitnamiBasics, bitnamiClientTLS, bitnamiQuorumTLS) {
		value := ""
		if l.value != "" {
			value = "`" + l.value + "` "
		}
		fmt.Fprintf(&b, "| `%s` | %s| `%s=` |\n", l.variable, value, l.key)
	}
	b.WriteString(bitnamiRest)
	b.WriteString(referenceTail)

	values := map[string]string{}
	for _, k := range listedKeys(t) {
		values[k.key] = k.value
	}
	c := base()
	d := readComments(t, c, values)
	for _, area := range []struct {
		title string
		list  []setting
	}{
		{"Storage", c.Storage.settings()}, {"Sessions", c.Sessions.settings()}, {"Clients", c.Clients.settings()},
		{"Limits", c.Limits.settings()}, {"Ensemble", c.Quorum.settings()}, {"Security", c.Security.settings()},
		{"Admin server", c.Admin.settings()}, {"Metrics", c.Metrics.settings()}, {"Audit", c.Audit.settings()},
		{"Log", c.Log.settings()}, {"Where time goes", c.Trace.settings()}, {"Process", c.Process.settings()},
	} {
		fmt.Fprintf(&b, "## %s\n\n| key | default | unit | restart | meaning | kind | variable |\n"+
			"| --- | --- | --- | --- | --- | --- | --- |\n", area.title)
		for _, s := range area.list {
			e := d.row(s, values[s.name()])
			if s.name() == "electionAlg" {
				e.meaning = "The election algorithm; 3 is the only one."
			}
			if l := applied(s.name(), values[s.name()]); e.meaning == "" && len(l.problems) > 0 {
				e.meaning = "Refused: " + l.problems[0].Rule + "."
			} else if e.meaning == "" && len(l.warnings) > 0 {
				e.meaning = "No effect: " + l.warnings[0].Text + "."
			}
			require.NotEmpty(t, e.meaning, s.name())
			if why := inert[s.name()]; why != "" {
				e.meaning += " Not acted on: " + why + "."
			}
			if others := s.keys[1:]; len(others) > 0 {
				e.meaning += " Also written `" + strings.Join(others, "`, `") + "`."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | `%s` |\n", s.name(), e.value, e.unit, e.restart,
				strings.ReplaceAll(e.meaning, "|", `\|`), kindName(s), EnvName(s.name()))
		}
		b.WriteByte('\n')
	}
	b.WriteString("Also: `server.N`, `group.N`, `weight.N` as in ZooKeeper; `authProvider.N`, `superUser.N`.\n\n" +
		"## Accepted without effect\n\nThey tune the inside of a Java server:")
	for i, key := range slices.Sorted(slices.Values(withoutEffect)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " `%s`", key)
	}
	b.WriteString(".\n")
	return filled(b.String())
}

// filled breaks the lines of prose so that they end before column 120. Headings and tables stay as they are.
func filled(page string) string {
	paragraphs := strings.Split(page, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "#") || strings.HasPrefix(p, "|") {
			continue
		}
		text, column := "", 0
		for word := range strings.FieldsSeq(p) {
			switch {
			case column == 0:
			case column+1+len(word) < 120:
				text, column = text+" ", column+1
			default:
				text, column = text+"\n", 0
			}
			text, column = text+word, column+len(word)
		}
		paragraphs[i] = text
	}
	return strings.TrimRight(strings.Join(paragraphs, "\n\n"), "\n") + "\n"
}

func kindName(s setting) string {
	switch {
	case ours(s.name()):
		return "Warren"
	case s.kind == passthrough:
		return "property"
	case s.kind == bare:
		return "bare"
	}
	return "file"
}

// fieldOf returns the dotted name of the field that a key changes.
func fieldOf(key, value string) string {
	before, after := fields(base()), fields(applied(key, value).c)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range after {
			if !yield(name) {
				return
			}
		}
	}) {
		if name != "File" && name != "Text" && before[name] != after[name] {
			return name
		}
	}
	return ""
}
