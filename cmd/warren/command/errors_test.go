package command

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/test/must"
)

// ports are what is at a port that is no client port.
type ports struct {
	refused string // nothing
	silent  string // a program that takes connections and says nothing
	closing string // one that closes them
	http    string // a web server
	tls     string // one that speaks TLS
	ca      string // file with the certificate of tls
}

func openPorts(t *testing.T) (p ports) {
	t.Helper()
	listen := func() net.Listener {
		return must.Listen(t)
	}
	gone := listen()
	p.refused = gone.Addr().String()
	require.NoError(t, gone.Close())
	p.silent = listen().Addr().String()
	closing := listen()
	p.closing = closing.Addr().String()
	go func() {
		for {
			c, err := closing.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4)) // what is unread would make a reset of the end
			_ = c.Close()
		}
	}()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	plain := httptest.NewServer(page)
	t.Cleanup(plain.Close)
	p.http = plain.Listener.Addr().String()
	secure := httptest.NewUnstartedServer(page)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	p.tls = secure.Listener.Addr().String()
	p.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	require.NoError(t, os.WriteFile(p.ca, text, 0o600))
	return p
}

// noName is a name that no resolver is asked for, because it has an empty part.
const noName = "no..name"

// Every command that asks a server says in one sentence what is wrong with it, and names it once.
func TestErrorsOfServers(t *testing.T) {
	p := openPorts(t)
	const (
		refused  = "connection refused: nothing listens there"
		noAnswer = "no answer in time"
		closed   = "the connection was closed without an answer"
		noPlain  = closed + ": is this a client port, and a plain one? For TLS name a --client-configuration"
		nameless = "this name has no address"
		noRecord = "it answered 200 OK, and nothing that can be read: is it the admin port?"
	)
	short := []string{"--timeout", "200ms"}
	ask := map[string]func(address string) []string{
		"health":    func(a string) []string { return append([]string{"health", a}, short...) },
		"4lw":       func(a string) []string { return append([]string{"4lw", a, "ruok"}, short...) },
		"smoketest": func(a string) []string { return []string{"smoketest", a, "--timeout", "500"} },
		"reconfig": func(a string) []string {
			return []string{"reconfig", "--wait", "500ms", "-s", a, "server.1=zk1:2888:3888;2181"}
		},
		"backup create": func(a string) []string {
			return append([]string{"backup", "create", t.TempDir(), t.TempDir(), "--committed", a}, short...)
		},
		"drain": func(a string) []string {
			return append([]string{"drain", "--admin", "http://" + a + "/c"}, short...)
		},
		"lead": func(a string) []string {
			return append([]string{"lead", "1", "--admin", "http://" + a + "/c"}, short...)
		},
		"balance": func(a string) []string {
			return append([]string{"balance", "http://" + a + "/c", "http://" + a + "/c"}, short...)
		},
		"readyz": func(a string) []string { return append([]string{"health", "http://" + a + "/readyz"}, short...) },
		"fetch": func(a string) []string {
			return append([]string{"backup", "create", t.TempDir(), "--admin", "http://" + a + "/c"}, short...)
		},
	}
	named := noName + ":2181"
	for _, c := range []struct{ name, address, want string }{
		{"health", p.refused, p.refused + ": " + refused},
		{"health", named, named + ": " + nameless},
		{"health", p.silent, p.silent + ": " + noAnswer},
		{"health", p.closing, p.closing + ": " + noPlain},
		{"health", p.http, p.http + ": " + noAnswer},
		{"4lw", p.refused, p.refused + ": ruok: " + refused},
		{"4lw", named, named + ": ruok: " + nameless},
		{"4lw", p.silent, p.silent + ": ruok: " + noAnswer},
		{"4lw", p.closing, p.closing + ": ruok: " + noPlain},
		{"smoketest", p.refused, "cannot open a session at " + p.refused + ": " + refused},
		{"smoketest", named, "cannot open a session at " + named + ": " + nameless},
		{"smoketest", p.silent, "cannot open a session at " + p.silent + ": " + noAnswer},
		{"reconfig", p.refused, p.refused + ": " + refused},
		{"reconfig", named, named + ": " + nameless},
		{"reconfig", p.silent, p.silent + ": " + noAnswer},
		{"backup create", p.refused, "--committed: " + p.refused + ": " + refused},
		{"backup create", named, "--committed: " + named + ": " + nameless},
		{"backup create", p.closing, "--committed: " + p.closing + ": " + noPlain},
		{"drain", p.refused, "http://" + p.refused + "/c/drain: " + refused},
		{"drain", named, "http://" + named + "/c/drain: " + nameless},
		{"drain", p.silent, "http://" + p.silent + "/c/drain: " + noAnswer},
		{"drain", p.closing, "http://" + p.closing + "/c/drain: " + closed},
		{"drain", p.http, "http://" + p.http + "/c: " + noRecord},
		{"drain", p.tls, "http://" + p.tls + "/c: 400 Bad Request"},
		{"lead", p.refused, "http://" + p.refused + "/c/hand_over: " + refused},
		{"balance", p.refused, "http://" + p.refused + "/c/drain: " + refused},
		{"readyz", p.refused, "http://" + p.refused + "/readyz: " + refused},
		{"readyz", named, "http://" + named + "/readyz: " + nameless},
		{"readyz", p.silent, "http://" + p.silent + "/readyz: " + noAnswer},
		{"readyz", p.tls, "http://" + p.tls + "/readyz: answers 400 Bad Request"},
		{"fetch", p.refused, "http://" + p.refused + "/c: " + refused},
		{"fetch", p.silent, "http://" + p.silent + "/c: " + noAnswer},
	} {
		code, _, errs := run(ask[c.name](c.address)...)
		require.Equal(t, 1, code, "%s %s", c.name, errs)
		isHTTP := !slices.Contains([]string{"health", "4lw", "smoketest", "reconfig", "backup create"}, c.name)
		switch {
		case strings.HasSuffix(c.want, refused):
			c.want += "; " + wording.CheckServer
		case isHTTP && (strings.HasSuffix(c.want, noAnswer) || strings.HasSuffix(c.want, closed)):
			c.want += "; " + wording.CheckAdminPort
		case strings.HasSuffix(c.want, noAnswer):
			c.want += "; " + wording.CheckClientPort
		}
		require.Equal(t, "warren: "+c.want+"\n", errs, c.name)
	}

	// Servers that are rows of a table are named by their rows.
	for _, c := range []struct{ address, want string }{
		{p.refused, refused}, {named, nameless}, {p.silent, noAnswer}, {p.closing, noPlain},
	} {
		code, out, errs := run("status", c.address, "--timeout", "200ms", "--admin-port", "0")
		said, want := "does not answer: ", 2
		if c.want == nameless {
			said, want = "cannot be asked by its name: ", 1
		}
		require.Equal(t, want, code)
		require.Empty(t, errs)
		require.Regexp(t, `(?m)^\Q`+c.address+`\E [- ]+ \Q`+said+c.want+`\E$`, out)
		code, out, errs = run("doctor", c.address, "--timeout", "200ms", "--admin-port", "0")
		require.Equal(t, 2, code)
		require.Empty(t, errs)
		require.Contains(t, out, said+c.want+"\n")
		host, port := must.Do2(net.SplitHostPort(c.address))(t)
		for _, name := range []string{"top", "slow"} {
			args := []string{name, host, "--admin-port", port, "--timeout", "200ms"}
			if name == "top" {
				args = append(args, "--once")
			}
			code, out, errs = run(args...)
			require.Equal(t, 1, code)
			switch c.want {
			case refused:
				require.Equal(t, "warren: "+wording.CheckServer+"\n", errs)
			case noAnswer, noPlain:
				require.Equal(t, "warren: "+wording.CheckAdminPort+"\n", errs)
			default:
				require.Empty(t, errs)
			}
			want := strings.TrimSuffix(c.want, strings.TrimPrefix(noPlain, closed)) // that is of client ports
			if c.address != named {
				want = "http://" + c.address + "/commands/" + name + ": " + want
			}
			require.Equal(t, host+":2181: "+want+"\n", out)
		}
	}

	// TLS is asked for by a client configuration.
	trusting := filepath.Join(t.TempDir(), "client.cfg")
	require.NoError(t, os.WriteFile(trusting,
		[]byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location="+p.ca+"\n"), 0o600))
	code, _, errs := run("drain", "--admin", "https://"+p.http+"/c", "--client-configuration", trusting)
	require.Equal(t, 1, code)
	require.Equal(t, "warren: https://"+p.http+"/c/drain: it answers without TLS\n", errs)
	code, _, errs = run("drain", "--admin", "https://"+p.tls+"/c")
	require.Equal(t, 1, code)
	require.Equal(t, "warren: https://"+p.tls+
		"/c/drain: its certificate is refused: certificate signed by unknown authority\n", errs)
}

// A server without a txn has nothing that could be backed up, which is no fault of the command line.
func TestNothingIsCommitted(t *testing.T) {
	ln := must.Listen(t)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, len("srvr")))
			_, _ = io.WriteString(c, "Zookeeper version: 3.9.4\nZxid: 0x0\nMode: standalone\nNode count: 5\n")
			_ = c.Close()
		}
	}()
	at := ln.Addr().String()
	code, _, errs := run("backup", "create", t.TempDir(), t.TempDir(), "--committed", at)
	require.Equal(t, 1, code)
	require.Equal(t, "warren: --committed: "+at+" has applied no txn, so there is nothing to back up: run this again "+
		"after the first write\n", errs)
}

// An empty variable of a script does not make a command do something else: start a server with an empty tree, find a
// configuration right, or ask the server of this machine.
func TestEmptyNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range [][]string{{"server", ""}, {"server", "--config", ""}, {"config", "check", ""},
		{"status", "--config", ""}, {"smoketest", "--config", ""}, {"doctor", "--config", ""}, {"wal", "dump", ""},
		{"backup", "list", ""}} {
		code, _, errs := run(line...)
		require.Equal(t, 2, code, line)
		require.Contains(t, errs, "usage: ", line)
	}
}

// fullDisk takes no output.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A command whose answer is lost fails, so that a script does not go on with half of it.
func TestOutputThatIsLost(t *testing.T) {
	for _, line := range [][]string{{"digest", "super:secret"}, {"version"}} {
		var said strings.Builder
		require.Equal(t, 1, Main(line, fullDisk{}, &said), line)
		require.Contains(t, said.String(), "no space left", line)
	}
}

// Every command that reads a file says in one sentence what is wrong with it, and names it once.
func TestErrorsOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o700))
	require.NoError(t, os.WriteFile("damaged", []byte("% is damaged\nby something"), 0o600))
	require.NoError(t, os.WriteFile("zoo.cfg", []byte("clientPort=0\n"), 0o600))
	require.NoError(t, os.WriteFile("client.cfg",
		[]byte("zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location=missing\n"), 0o600))
	require.NoError(t, os.WriteFile("jaas.cfg", []byte("java.security.auth.login.config=missing\n"), 0o600))
	const (
		absent    = ": there is no such file or directory"
		noSetting = "--client-configuration damaged: it has no setting of a client, such as zookeeper.client.secure"
		isDir     = ": it is a directory, not a file"
		notDir    = ": a part of this path is a file, where a directory is needed"
	)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"status --config missing", 2, "missing file is missing"},
		{"status --config folder", 2, "folder: file cannot be read: is a directory"},
		{"status --config zoo.cfg", 2, "zoo.cfg: a server has no client port to ask"},
		{"recover --to x missing", 2, "missing file is missing"},
		{"adopt missing", 1, "missing" + absent},
		{"backup create new --config missing", 2, "missing file is missing"},
		{"backup create damaged folder", 1, "damaged/manifest.json" + notDir},
		{"backup create new folder", 1, "folder/version-2" + absent},
		{"backup list missing", 1, "missing is not a backup: it has no manifest.json, or an empty one"},
		{"wal dump missing", 1, "missing" + absent},
		{"wal dump folder", 1, "folder has no log files"},
		{"wal verify missing", 1, "missing" + absent},
		{"snapshot summary missing", 1, "missing" + absent},
		{"snapshot summary folder", 1, "folder is a directory: name a file snapshot.* of a version-2 directory"},
		{"snapshot summary damaged", 1, "damaged is corrupt at byte 0: it does not begin as a snapshot does, " +
			"but with 0x25206973; name a file snapshot.* of a version-2 directory; if it is one, nothing in it can " +
			"be read: a server puts such a file aside, and starts with an older one and the log"},
		{"snapshot verify folder", 1, "no snapshot is in the directory folder"},
		{"snapshot compare missing missing", 1, "missing" + absent},
		{"zkTxnLogToolkit.sh damaged", 1, "Invalid magic number for damaged: it begins with 0x25206973"},
		{"top --once --auth-file missing", 2, "--auth-file missing" + absent},
		{"top --once --auth-file folder", 2, "--auth-file folder" + isDir},
		{"slow --auth-file damaged", 2, "--auth-file damaged must be one line, such as: super:password"},
		{"drain --auth-file damaged", 2, "--auth-file damaged must be one line, such as: super:password"},
		{"balance a b --auth-file missing", 2, "--auth-file missing" + absent},
		{"support --auth-file missing", 2, "--auth-file missing" + absent},
		{"backup create new --admin a --auth-file missing", 2, "--auth-file missing" + absent},
		{"support --log missing", 2, "--log missing" + absent},
		{"health --client-configuration missing", 2, "--client-configuration missing" + absent},
		{"health --client-configuration damaged", 2, noSetting},
		{"4lw a ruok --client-configuration missing", 2, "--client-configuration missing" + absent},
		{"status --client-configuration missing", 2, "--client-configuration missing" + absent},
		{"doctor a --client-configuration missing", 2, "--client-configuration missing" + absent},
		{"top --client-configuration missing", 2, "--client-configuration missing" + absent},
		{"lead 1 --client-configuration client.cfg", 2,
			"client.cfg:2: zookeeper.ssl.trustStore.location missing" + absent},
		{"shell --tls-ca missing ls /", 2, "--tls-ca missing" + absent},
		{"shell --tls-ca folder ls /", 2, "--tls-ca folder" + isDir},
		{"shell --tls-ca damaged ls /", 2, "--tls-ca damaged: it is not PEM; convert PKCS12 with " +
			"`openssl pkcs12 -in FILE -nodes`, and JKS to PKCS12 with `keytool -importkeystore`"},
		{"shell --tls-cert missing ls /", 2, "--tls-cert missing" + absent},
		{"shell --jaas missing ls /", 2, "--jaas missing" + absent},
		{"shell --jaas damaged ls /", 2, "--jaas damaged: JAAS file, line 1: expected the name of a section"},
		{"shell --client-configuration missing ls /", 2, "--client-configuration missing" + absent},
		{"shell --client-configuration damaged ls /", 2, noSetting},
		{"shell --client-configuration jaas.cfg ls /", 2,
			"jaas.cfg:1: java.security.auth.login.config missing" + absent},
		{"backup list s3://a/b --identity missing", 2, "--identity missing" + absent},
		{"backup create s3://a/b folder --encrypt-to missing", 2, "--encrypt-to missing" + absent},
		{"backup list s3://a/b --s3-ca missing", 2, "--s3-ca missing" + absent},
		{"backup list s3://a/b --s3-ca damaged", 2, "--s3-ca damaged: it has no certificate in PEM"},
		{"doctor none/there", 1, "none/there is not a directory"},
	} {
		code, _, errs := run(strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, errs)
		said, _, usage := strings.Cut(errs, "\nusage: ")
		require.Equal(t, c.args == "status --config zoo.cfg", usage, c.args)
		require.Equal(t, "warren: "+c.want, strings.TrimSuffix(said, "\n"), c.args)
	}
	if os.Getuid() == 0 {
		return // nothing is forbidden to root
	}
	require.NoError(t, os.WriteFile("secret", nil, 0))
	for args, want := range map[string]string{
		"top --once --auth-file secret": "--auth-file secret: permission denied",
		"snapshot summary secret":       "secret: permission denied",
		"status --config secret":        "secret: file cannot be read: permission denied",
	} {
		_, _, errs := run(strings.Fields(args)...)
		require.Equal(t, "warren: "+want+"\n", errs, args)
	}
}

// A wrong invocation names the flag or the argument once, with the form that is right.
func TestErrorsOfInvocations(t *testing.T) {
	const (
		badPort = `"a:x" is neither a host nor host:port: the port is not a number from 0 to 65535`
		badURL  = `"http://" is not the address of an admin server, such as zk1:8080 or http://zk1:8080/commands`
	)
	for args, want := range map[string]string{
		"shell --pager=x ls /":                  `--pager "x" is neither true nor false`,
		"status --watch=maybe":                  `--watch "maybe" is neither true nor false`,
		"status --timeout 3":                    `--timeout "3" is not a duration such as 10s or 5m`,
		"status --timeout 3y":                   `--timeout "3y" is not a duration such as 10s or 5m`,
		"status --max-lag many":                 `--max-lag "many" is not a whole number`,
		"status --max-lag 99999999999999999999": `--max-lag "99999999999999999999" is too large or too small`,
		"top --limit x":                         `--limit "x" is not a whole number`,
		"top --limit 0":                         "--limit 0: it must be from 1 to 1000",
		"drain --rate 0":                        "--rate 0: it must be at least 1",
		"top --interval 0":                      "--interval 0s: it must be more than 0, such as 2s",
		"balance a b --rounds 0":                "--rounds 0: it must be at least 1",
		"backup prune a --keep -1 --strays":     "--keep -1: it must be at least 0",
		"health a:x":                            badPort,
		"4lw a:x ruok":                          badPort,
		"status a:x":                            badPort,
		"status -s a:x":                         badPort,
		"doctor a:x":                            badPort,
		"top a:x":                               badPort,
		"slow a:x":                              badPort,
		"support a:x":                           badPort,
		"smoketest a:x":                         badPort,
		"drain -s a:x":                          badPort,
		"drain --admin a:x":                     badPort,
		"lead 1 --admin http://":                badURL,
		"balance a:x b":                         badPort,
		"balance b http://":                     badURL,
		"restore b d --unless-served a:x":       badPort,
		"bench get --servers a:x":               badPort,
		"backup create new old --committed a:x": badPort,
		"backup create new --admin a:x":         badPort,
		"health http://":                        `"http://" is not a URL such as http://127.0.0.1:8080/readyz`,
		"shell --tls-key a ls /":                "--tls-key needs --tls-cert, the certificate of the key",
		"server --client-port 70000":            `--client-port "70000" is not a whole number from 0 to 65535`,
		"smoketest --timeout soon":              `--timeout "soon" is neither milliseconds nor a duration such as 10s`,
		"backup create a b --until x":           `--until "x" is not a zxid such as 0x100000002`,
		"restore a b --time x":                  `--time "x" is not a time such as 2026-11-21T14:00:00Z`,
		"bench get --pid x":                     `--pid "x" is not a process id`,
		"status --output":                       "--output needs a value",
		"status --outptu json":                  "unknown flag: --outptu; did you mean --output?",
		"status --qqqqqqqq":                     "unknown flag: --qqqqqqqq",
		"status -z":                             "unknown shorthand flag: 'z' in -z",
		"stauts":                                `unknown command "stauts"; did you mean status?`,
		"wal dmup":                              `unknown command "dmup"; did you mean dump?`,
		"qqqqqqqq":                              `unknown command "qqqqqqqq"`,
		"completion tcsh":                       `unknown command "tcsh"; did you mean bash?`,
		"help stauts":                           `unknown command "stauts"; did you mean status?`,
		"help wal dmup":                         `unknown command "dmup"; did you mean dump?`,
		"status --timeout 0":                    `--timeout "0": must be more than 0, such as 10s`,
		"version x":                             `unexpected argument "x"`,
		"lead":                                  "name the id of the server that is to lead",
		"lead x":                                `"x" is not the id of a server, which is the N of its line server.N`,
		"shed 200":                              `"200" is not a percentage from 0 to 100`,
		"4lw 127.0.0.1:1":                       "name a server and a word",
		"4lw 127.0.0.1:1 toolong":               `"toolong" is not a four-letter word`,
		"4lw srvr 127.0.0.1:1":                  `the server comes first: 127.0.0.1:1 srvr`,
		"status --output xml":                   `--output "xml": it must be table or json`,
		"backup create":                         "name the backup: a folder or s3://BUCKET/PREFIX",
	} {
		code, out, errs := run(strings.Fields(args)...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out, args)
		said, usage, _ := strings.Cut(errs, "\n")
		require.Equal(t, "warren: "+want, said, args)
		require.Regexp(t, "^usage: warren.*\nsee `warren.* --help`\n$", usage, args)
	}
}
