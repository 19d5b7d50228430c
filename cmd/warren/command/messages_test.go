package command

import (
	"bufio"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew; commit only texts that you have read")

// What commands say, side by side, so that a reader can judge it: what is wrong, where, why, and what to do. The
// commands are those of the file. To add one, write its line, which begins with "$ warren", and run the test with
// -update.
func TestMessages(t *testing.T) {
	golden := must.Abs(t, "testdata/messages.txt")
	want := must.ReadFile(t, golden)

	gone := must.Listen(t)
	refused := gone.Addr().String()
	require.NoError(t, gone.Close())
	taken := must.Listen(t)
	port := must.Port(t, taken.Addr().String())
	adminLn := must.Listen(t)
	admin := adminLn.Addr().(*net.TCPAddr)
	require.NoError(t, adminLn.Close())
	server := embed.Start(t, embed.Options{Configure: func(_ int, c *config.Config) {
		c.Admin.Enabled, c.Admin.Address, c.Admin.Port = true, "127.0.0.1", admin.Port
		c.SuperDigest = auth.DigestIdentity("super:secret").ID
	}}).ConnectString()
	ca := pki.NewCA("ca")
	block := func(l *pki.Leaf, kind string) []byte {
		for block, rest := pem.Decode(l.PEM()); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == kind {
				return pem.EncodeToMemory(block)
			}
		}
		t.Fatal("there is no ", kind)
		return nil
	}
	certificate := block(ca.Issue(pki.Options{Name: "one"}), "CERTIFICATE")
	otherKey := block(ca.Issue(pki.Options{Name: "other"}), "PRIVATE KEY")
	data := cmdline.CopyFixture(t, "02-snapshot-and-log")
	store := must.ReadFile(t, "../../../server/internal/keystore/testdata/java.p12")
	free := must.Port(t, refused)

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
		"quorum.cfg": "dataDir=./quorum\nadmin.enableServer=false\ninitLimit=10\nsyncLimit=5\n" +
			"electionPortBindRetry=1\nserver.1=127.0.0.1:" + port + ":" + free + "\nserver.2=127.0.0.1:1:2\n",
		"quorum/myid": "1\n",
		"secure.cfg": "secureClientPort=" + port + "\nsecureClientPortAddress=127.0.0.1\ndataDir=./secure\n" +
			"admin.enableServer=false\nssl.keyStore.location=store.p12\nssl.keyStore.password=changeit\n" +
			"ssl.clientAuth=none\n",
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
		"kinds.cfg": "clientPort=0\ndataDir=./kinds\nadmin.enableServer=false\ninitLimit=10\nsyncLimit=5\n" +
			"peerType=watcher\nserver.1=a:1:2:voter\nserver.2=a:1:x\nserver.3=a:1\nserver.4=a:5:5\nserver.x=a:1:2\n",
		"limits.cfg": "clientPort=0\ndataDir=./limits\nadmin.enableServer=false\nserver.1=a:1:2\nserver.2=b:1:2\n" +
			"server.3=c:1:2\n",
		"groups.cfg": "clientPort=0\ndataDir=./line\nadmin.enableServer=false\n" + threeServers +
			"group.1=1:2\ngroup.2=2\n",
		"twice.cfg": "clientPort=0\ndataDir=./line\nadmin.enableServer=false\ninitLimit=10\nsyncLimit=5\n" +
			"server.1=a:1:2\nserver.2=a:1:2\nserver.3=c:1:2\n",
		"values.cfg": "clientPort=0\ndataDir=./values\nadmin.enableServer=false\nautopurge.purgeInterval=x\n" +
			"jute.maxbuffer=0x\nwarren.diskWatermarkBytes=lots\nwarren.logLevel=loud\nssl.clientAuth=maybe\n" +
			"metricsProvider.className=nosuch.Class\nquorum.auth.learnerRequireSasl=true\n",
		"sessions.cfg": "clientPort=0\ndataDir=./sessions\nadmin.enableServer=false\nminSessionTimeout=9000\n" +
			"maxSessionTimeout=8000\n",
		"dynamic.cfg": "clientPort=0\ndataDir=./dynamic\nadmin.enableServer=false\ndynamicConfigFile=./nothere\n",
		"address.cfg": "clientPort=0\nclientPortAddress=192.0.2.1\ndataDir=./address\nadmin.enableServer=false\n",
		"tls.cfg":     "secureClientPort=0\ndataDir=./tls\nadmin.enableServer=false\n",
		"protocol.cfg": "secureClientPort=0\ndataDir=./protocol\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.password=changeit\nssl.protocol=TLSv9\n",
		"ciphers.cfg": "secureClientPort=0\ndataDir=./ciphers\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.password=changeit\nssl.ciphersuites=nosuch\n",
		"cert.cfg": "secureClientPort=0\ndataDir=./cert\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=cert.pem\n",
		"pair.cfg": "secureClientPort=0\ndataDir=./pair\nadmin.enableServer=false\n" +
			"ssl.keyStore.location=pair.pem\n",
		"emptydir.cfg": "clientPort=0\nadmin.enableServer=false\ndataDir=\n",
		"emptyid.cfg":  "clientPort=0\nadmin.enableServer=false\ndataDir=./emptyid\n" + threeServers,
		"hugeid.cfg":   "clientPort=0\nadmin.enableServer=false\ndataDir=./hugeid\n" + threeServers,
		"emptyid/myid": "",
		"hugeid/myid":  "99999999999999999999\n",
		"stray.cfg": "clientPort=0\nadmin.enableServer=false\ndataDir=./stray\n" +
			"dynamicConfigFile=./stray.dynamic\n",
		"stray.dynamic": "server.=a:1:2\ntickTime=2000\n",
		"watchers.cfg": "clientPort=0\nadmin.enableServer=false\ndataDir=./watchers\ninitLimit=5\nsyncLimit=2\n" +
			"server.1=localhost:1:2:observer\n",
		"watchers/myid": "1\n",
		"type.cfg": "secureClientPort=0\nadmin.enableServer=false\ndataDir=./type\n" +
			"ssl.keyStore.location=store.p12\nssl.keyStore.type=FOO\n",
		"held.cfg": "clientPort=0\ndataDir=./held\nadmin.enableServer=false\n",
		"mixed.cfg": "clientPort=0\ndataDir=./mixed\ndataLogDir=./mixedlog\n" +
			"admin.enableServer=false\n",
		"mixedlog/version-2/snapshot.0": "",
		"cert.pem":                      string(certificate),
		"pair.pem":                      string(certificate) + string(otherKey),
		"wrong.auth":                    "digest super:wrong\n",
		"scheme.auth":                   "super:secret\n",
		"jaas.conf":                     "Server {\n  nosuch.Module required\n};\n",
		"module.cfg": "clientPort=0\ndataDir=./module\nadmin.enableServer=false\n" +
			"java.security.auth.login.config=jaas.conf\n",
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

	// Key stores that have just changed are waited for.
	longAgo := time.Now().Add(-time.Hour)
	for _, store := range []string{"store.p12", "damaged", "cert.pem", "pair.pem"} {
		require.NoError(t, os.Chtimes(store, longAgo, longAgo))
	}

	newest := must.ReadFile(t, filepath.Join(data, "version-2", "snapshot.34"))
	require.NoError(t, os.MkdirAll("late/version-2", 0o700))
	require.NoError(t, os.WriteFile("late/version-2/snapshot.34", newest, 0o600))
	held := must.Do(datadir.Begin(vfs.OS(), filepath.Join("held", "version-2")))(t)
	t.Cleanup(func() { require.NoError(t, held.Abandon(nil)) })
	code, _, errs := run("backup", "create", "good", data)
	require.Zero(t, code, errs)
	for name, spoil := range map[string]func(file string, text []byte) []byte{
		"torn": func(file string, text []byte) []byte {
			if file == "manifest.json" {
				return text[:len(text)/2]
			}
			return text
		},
		"short": func(file string, text []byte) []byte {
			if strings.HasPrefix(file, "snapshot") {
				return text[:len(text)/2]
			}
			return text
		},
	} {
		require.NoError(t, os.Mkdir(name, 0o700))
		for file, text := range cmdline.Contents(t, "good") {
			require.NoError(t, os.WriteFile(filepath.Join(name, filepath.Base(file)),
				spoil(filepath.Base(file), []byte(text)), 0o600))
		}
	}

	names := strings.NewReplacer("REFUSED", refused, "SERVER", server, "TAKEN", port,
		"ADMIN", admin.String(), "DATA", data)
	// Of addresses, the longer come first: a port alone may be a part of them.
	hidden := strings.NewReplacer(refused, "REFUSED", server, "SERVER", "127.0.0.1:"+port, "127.0.0.1:TAKEN",
		admin.String(), "ADMIN", data, "DATA", home, "DIR")
	changes := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|pid \d+|\d+(\.\d+)?(ms|µs)`)
	// What a name server says of a name that does not exist, if it says anything.
	nameless := regexp.MustCompile(`the name server does not answer`)
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
		require.NoError(t, os.Chtimes(home, longAgo, longAgo))
		code, out, errs := run(words(names.Replace(line))...)
		text := strings.TrimRight(changes.ReplaceAllString(hidden.Replace(out+errs), "N"), "\n")
		text = nameless.ReplaceAllString(text, "this name has no address")
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
