package command

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/server/embed"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew; commit only texts that you have read")

// What commands say, side by side, so that a reader can judge it: what is wrong, where, why, and what to do. The
// commands are those of the file. To add one, write its line, which begins with "$ warren", and run the test with
// -update.
func TestMessages(t *testing.T) {
	golden, err := filepath.Abs("testdata/messages.txt")
	require.NoError(t, err)
	want, err := os.ReadFile(golden)
	require.NoError(t, err)

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := gone.Addr().String()
	require.NoError(t, gone.Close())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	server := embed.Start(t, embed.Options{}).ConnectString()
	store, err := os.ReadFile("../../../server/internal/keystore/testdata/java.p12")
	require.NoError(t, err)
	_, free, err := net.SplitHostPort(refused)
	require.NoError(t, err)

	home := t.TempDir()
	t.Chdir(home)
	for name, text := range map[string]string{
		"damaged":    "% is damaged\nby something",
		"words.cfg":  "tickTime=\"abc\"\nclientPort=0\ndataDir=words\n",
		"large.cfg":  "tickTime=99999999999999999999\nclientPort=0\ndataDir=large\n",
		"nodir.cfg":  "clientPort=0\n",
		"equals.cfg": "clientPort\n",
		"port.cfg":   "clientPort=70000\ndataDir=port\n",
		"flag.cfg":   "clientPort=0\ndataDir=flag\nwarren.console.enabled=maybe\n",
		"taken.cfg": "clientPort=" + port + "\nclientPortAddress=127.0.0.1\ndataDir=taken\n" +
			"admin.enableServer=false\n",
		"admin.cfg": "clientPort=0\ndataDir=./admin\nadmin.serverAddress=127.0.0.1\nadmin.serverPort=" + port + "\n",
		"metrics.cfg": "dataDir=./metrics\nadmin.enableServer=false\n" +
			"metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider\n" +
			"metricsProvider.httpHost=127.0.0.1\nmetricsProvider.httpPort=" + port + "\n",
		"election.cfg": "dataDir=./election\nadmin.enableServer=false\ninitLimit=10\nsyncLimit=5\n" +
			"electionPortBindRetry=1\nserver.1=127.0.0.1:" + free + ":" + port + "\nserver.2=127.0.0.1:1:2\n",
		"election/myid": "1\n",
		"several.cfg": "tickTime=2s\nclientPort=70000\ndataDir=./several\nsnapCount=\nreconfigEnabled=yes\n" +
			"minSessionTimeout=9000\nmaxSessionTimeout=8000\n",
		"nokeys.cfg": "secureClientPort=0\ndataDir=./nokeys\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=nokeys.p12\nssl.keyStore.password=secret\n",
		"keys.cfg": "secureClientPort=0\ndataDir=./keys\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.password=wrong\n",
		"trust.cfg": "secureClientPort=0\ndataDir=./trust\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.password=changeit\nssl.trustStore.location=damaged\n" +
			"ssl.trustStore.type=PEM\n",
		"word.cfg": "secureClientPort=0\ndataDir=./word\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.passwordPath=missing\n",
		"members.cfg": "clientPort=0\ndataDir=./members\nadmin.enableServer=false\nsslQuorum=true\n" +
			"ssl.quorum.keyStore.location=missing.p12\nssl.quorum.trustStore.location=missing.p12\n" + threeServers,
		"https.cfg": "clientPort=0\ndataDir=./https\nadmin.forceHttps=true\n" +
			"ssl.quorum.keyStore.location=missing.p12\n",
		"exporter.cfg": "clientPort=0\ndataDir=./exporter\nadmin.enableServer=false\n" +
			"metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider\n" +
			"metricsProvider.httpsPort=1\nmetricsProvider.ssl.keyStore.location=missing.p12\n",
		"jaas.cfg": "clientPort=0\ndataDir=./jaas\nadmin.enableServer=false\n" +
			"java.security.auth.login.config=missing.conf\n",
		"secrets.cfg": "clientPort=0\ndataDir=./secrets\nadmin.enableServer=false\n" +
			"warren.sessionSecrets=missing.txt\n",
		"store.p12":     string(store),
		"nomyid.cfg":    "clientPort=0\ndataDir=nomyid\n" + threeServers,
		"stranger.cfg":  "clientPort=0\ndataDir=stranger\n" + threeServers,
		"letter.cfg":    "clientPort=0\ndataDir=letter\n" + threeServers,
		"line.cfg":      "clientPort=0\ndataDir=line\n" + threeServers + "server.4=localhost\n",
		"stranger/myid": "9\n",
		"letter/myid":   "one\n",
		"line/myid":     "1\n",
		"members/myid":  "1\n",
		"empty/nothing": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}

	names := strings.NewReplacer("REFUSED", refused, "SERVER", server, "TAKEN", port)
	// Of addresses, the longer come first: a port alone may be a part of them.
	hidden := strings.NewReplacer(refused, "REFUSED", server, "SERVER", "127.0.0.1:"+port, "127.0.0.1:TAKEN",
		home, "DIR")
	changes := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|pid \d+|\d+(\.\d+)?(ms|µs)`)
	// What is no message about a mistake, or comes at any time: findings of a server that is alone.
	passing := regexp.MustCompile(`\tINFO\t|"check": |^warren \S+ (serves|listens for) clients `)
	var got strings.Builder
	count := 0
	for lines := bufio.NewScanner(strings.NewReader(string(want))); lines.Scan(); {
		line, ok := strings.CutPrefix(lines.Text(), "$ warren")
		if !ok {
			continue
		}
		count++
		code, out, errs := run(words(names.Replace(line))...)
		text := strings.TrimRight(changes.ReplaceAllString(hidden.Replace(out+errs), "N"), "\n")
		fmt.Fprintf(&got, "$ warren%s\n", line)
		for said := range strings.Lines(text + "\n") {
			said = strings.TrimRight(said, " \n")
			if said != "" && !passing.MatchString(said) {
				fmt.Fprintf(&got, "    %s\n", said)
			}
		}
		fmt.Fprintf(&got, "exit code %d\n\n", code)
		require.NotEqual(t, cli.ExitOK, code, "%s: %s", line, text)
		require.NotEmpty(t, text, line)
	}
	require.GreaterOrEqual(t, count, 100)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		return
	}
	require.Equal(t, string(want), got.String())
}

const threeServers = `initLimit=10
syncLimit=5
server.1=localhost:1:2
server.2=localhost:3:4
server.3=localhost:5:6
`

// words splits a line at its spaces, but not inside of single quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
