//go:build interop

package interop

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// zkCli is Debian's shell.
const zkCli = "/usr/share/zookeeper/bin/zkCli.sh"

// spoken is what a shell has printed: events apart from the rest, because Java prints them from another thread.
type spoken struct {
	results, errors, events []string
	code                    int
}

// outputRules take away what differs between two runs, and what is known to differ between zkCli.sh 3.8 and Warren.
var outputRules = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`^(.Zxid) = 0x[0-9a-f]+$`), "$1 = ZXID"},
	{regexp.MustCompile(`^(.time) = \w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}$`), "$1 = DATE"},
	{regexp.MustCompile(`^ephemeralOwner = 0x[1-9a-f][0-9a-f]+$`), "ephemeralOwner = SESSION"},
	// since 3.9; operations 5.2
	{regexp.MustCompile(`^(WatchedEvent .*) zxid: -?\d+$`), "$1"},
	{regexp.MustCompile(`^ZooKeeper CLI version: .*$`), "VERSION"}, //
	// since 3.9 without the class
	{regexp.MustCompile(`^org\.apache\.commons\.cli\.\w+Exception: `), ""},
	// -b and -x since 3.9
	{regexp.MustCompile(`get \[-s\] \[-w\] \[-b\] \[-x\] path`), "get [-s] [-w] path"},
	// -b since 3.9
	{regexp.MustCompile(`set path data \[-s\] \[-v version\] \[-b\]`), "set [-s] [-v version] path data"},
	{regexp.MustCompile(`^\t(export|find|help|import|tree|watch) .*$`), "OURS"},
	{regexp.MustCompile(`^(SLF4J: |log4j:).*$`), "OURS"}, // Java's logging
}

// eventOutput matches the two messages that a shell prints for an event. Java's event thread prints each of them
// whole, but maybe between two parts of a line of the main thread: "[", then an event, then "z]".
var eventOutput = regexp.MustCompile(`\n(WATCHER::|WatchedEvent [^\n]*)\n`)

func normalised(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, rule := range outputRules {
			line = rule.pattern.ReplaceAllString(line, rule.replacement)
		}
		if line != "OURS" {
			lines = append(lines, line)
		}
	}
	return lines
}

// takeApart tells events from the rest. Each is two messages, of which the second one is returned.
func takeApart(t *testing.T, text string) (results, events []string) {
	t.Helper()
	messages := eventOutput.FindAllString(text, -1)
	require.Zero(t, len(messages)%2, "%q", messages)
	for i, message := range messages {
		message = strings.TrimSpace(message)
		require.Equal(t, i%2 == 0, message == "WATCHER::", "message %d of the events: %s", i, message)
		if i%2 == 1 {
			events = append(events, normalised(message)...)
		}
	}
	return normalised(eventOutput.ReplaceAllString(text, "")), events
}

// TestTakeApart: an event may come between two lines and in the middle of one.
func TestTakeApart(t *testing.T) {
	results, events := takeApart(t, "null\n\nWATCHER::\n[\nWatchedEvent a\nz]\n\nWATCHER::\n\nWatchedEvent b\n\n/o\n")
	require.Equal(t, []string{"null", "[z]", "", "/o"}, results)
	require.Equal(t, []string{"WatchedEvent a", "WatchedEvent b"}, events)
}

// speak runs a shell and takes its output apart.
func speak(t *testing.T, stdin string, name string, args ...string) spoken {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(programContext(t), name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.Env = append(cmd.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	said := spoken{code: cmd.ProcessState.ExitCode(), errors: normalised(stderr.String())}
	said.results, said.events = takeApart(t, stdout.String())
	// Siblings are deleted in the order in which the server lists them to zkCli.sh, and in that of their names by
	// ours.
	for i := 0; i < len(said.events); i++ {
		j := i
		for j < len(said.events) && strings.Contains(said.events[j], "type:NodeDeleted") {
			j++
		}
		slices.Sort(said.events[i:j])
		i = max(i, j-1)
	}
	return said
}

// outputSession is typed into both shells. It leaves out what zkCli.sh 3.8 dies of (numbers that are none, paths that
// may not be read in exists), what its asynchronous calls may answer too late, and what Warren does otherwise on
// purpose: an ACL with an unknown permission or a wrong part is refused whole, setAcl -R reports what was refused as
// errors, an unwatched printwatches word is an error, and after close the exit code is 1.
const outputSession = `nonsense
create /o one
create -s /o/n- x
create -e /o/e y
create -c /o/c
create -t 3600000 /o/t
create -t 3600000 -s /o/t data
create /o
create
create -c -s /o/x
create -t x /o/x
create -t 5 -e /o/x
create -t 5 -c /o/x
create -t 0 /o/x
create -t 99999999999999 /o/x
create foo
create /o/
create /o//x
create /o/./x
create /o/../x
create -s /o/q/ x
create -e -s /o/es
create /o/q d world:anyone
create /o/q d ,
create /o/q d ""
create /o/q d foo:bar:r
create /o/acl d ip:127.0.0.1:cdr,world:anyone:wa
create /no/x
create /o/e/x
getAcl /o/acl
getAcl -s /o
getAcl
getAcl /none
get /o
get -s /o
create /o/null
get /o/null
get -s /o/null
create /o/empty ""
get /o/empty
create /o/quoted 'a b  c'
get /o/quoted
create /o/dq "it's"
get /o/dq
get "/o/dq
   get    '/o/dq'
get	/o/dq
create /o/ü ü
get /o/ü
get /o watch
get /none
get
get -z /o
get o
get /o/
ls /o
ls /
ls -s /o
ls -sw /o
ls /o -s
ls -- /o
ls --R /o
ls /o watch
ls -? /o
ls /none
ls
ls -R /none
ls2 /o
create /o/c/b
create /o/c/b/x
create /o/c/a
create /o/c/c
create /o/c/c/z
ls -R /o/c
ls -R -s /o/c
ls -R /zookeeper
stat /o
stat -w /o
stat /none
stat /o watch
stat
set /o two
set -s /o three
set /o -s four
set -v 0 /o x
set -v
set /o
set
set /none x
delete -v 7 /o/null
delete /o/null 0
delete /none
delete
delete /o
delete /
getAllChildrenNumber /o
getAllChildrenNumber /none
getAllChildrenNumber
getEphemerals
getEphemerals /o
getEphemerals /none
getEphemerals x
listquota /o
listquota /none
listquota
setquota -n 5 -b 100 /o
setquota -n 50 /o
listquota /o
setquota -b 1000 /o
setquota -N 3 /o
setquota -B 5 /o
listquota /o
delquota -N /o
delquota -B /o
setquota -n 0 /o
setquota -b -1 /o
setquota -N 0 /o
setquota -B -1 /o
setquota -n x /o
setquota -n 2 /o
setquota -b 2 /o
listquota /o
setquota -n 5 /zookeeper/quota
setquota -n 5 /none
setquota -n 5 /o/c
setquota -n 5 /
setquota /o
setquota -n 5
delquota -n -b /o
delquota -n /o
listquota /o
get /zookeeper/quota/o/zookeeper_limits
delquota /o
delquota /o
delquota -n /o
delquota
setquota -n 5 /o/c
setquota -n 5 /o
delquota /o/c
ls -R /zookeeper/quota
sync /o
sync
sync o
whoami
addauth
addauth ip
addauth digest bob:secret
whoami
create /o/p priv auth::cdrwa
getAcl /o/p
getAcl -s /o/p
setAcl -s /o/p world:anyone:ra
setAcl /o/p world:anyone
setAcl /o/p foo:bar:r
setAcl -v 7 /o/p world:anyone:ra
setAcl /o/p digest:bob:fyVmFCwVbTJYrznoSu1koqYEYF0=:cdrwa
getAcl /o/p
setAcl -R /o/c world:anyone:cdrwa
setAcl -R /none world:anyone:cdrwa
setAcl /none world:anyone:r
setAcl /o
setAcl
version
version x
printwatches
printwatches off
printwatches
printwatches on
config
config -s
config -c
reconfig
reconfig -file /none -add 5=x
reconfig -members server.1=127.0.0.1:1:2;3 -remove 1
reconfig -v x -remove 3
redo 1000
redo 163
history
removewatches /o/c
removewatches
removewatches /o/c -z
get -w /o/c
ls -w /o/c
get -w /o/c
removewatches /o/c -c
removewatches /o/c -d
removewatches /o/c -d
addWatch /o/c
addWatch -m foo /o/c
addWatch
create /o/c/w
set /o/c/w q
delete /o/c/w
removewatches /o/c
get -w /o/c/c
ls -w /o/c/c
deleteall /o/c
ls -w -R /o
create /o/last
deleteall /o -b x
deleteall
deleteall /none
deleteall /o
ls /
close
get /o
ls /
version
close
quit
`

// TestShellOutput types the same lines into zkCli.sh and into ours of that name and compares what they print, stream
// by stream.
func TestShellOutput(t *testing.T) {
	node := startTarget(t)
	theirs := speak(t, outputSession, zkCli, "-server", node.Addr())
	ours := speak(t, outputSession, cluster.Binary(t), "zkCli.sh", "-server", node.Addr())
	require.Equal(t, theirs.results, ours.results)
	require.Equal(t, theirs.errors, ours.errors)
	require.Equal(t, theirs.events, ours.events)
}

// TestShellOneCommand compares single commands and their exit codes.
func TestShellOneCommand(t *testing.T) {
	node := startTarget(t)
	commands := []string{"create /one 'a'", "get /one", "get -s /one", "ls /", "stat /none", "nonsense", "ls",
		"ls -z /", "create /one", "quit", "close", "-r ls /", "-timeout 5000 ls /", "-waitforconnection ls /",
		"sync /", "whoami", "deleteall /one", "listquota /one", "delquota /one", "stat -w /one", "delete /one 9"}
	run := func(shell ...string) (all []spoken) {
		for _, args := range commands {
			words := append(shell[1:], "-server", node.Addr())
			all = append(all, speak(t, "", shell[0], append(words, strings.Fields(args)...)...))
		}
		return all
	}
	theirs, ours := run(zkCli), run(cluster.Binary(t), "zkCli.sh")
	for i, args := range commands {
		if slices.Contains([]string{"nonsense", "ls", "ls -z /", "quit", "close"}, args) {
			// whether the connection comes before the end is a matter of luck
			theirs[i].events, ours[i].events = nil, nil
		}
		require.Equal(t, theirs[i], ours[i], args)
	}
}
