package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

func TestOneCommand(t *testing.T) {
	x := open(t, Options{})
	require.Equal(t, codeOK, x.Command(t.Context(), []string{"ls", "/zookeeper"}))
	require.Equal(t, "[config, quota]\n", x.out.Take())
	require.Empty(t, x.err.Take())

	x = open(t, Options{ZkCli: true})
	require.Equal(t, codeOK, x.Command(t.Context(), []string{"ls", "/zookeeper"}))
	require.Equal(t,
		"Connecting to "+address+"\n\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null zxid: -1\n"+
			"[config, quota]\n", x.out.Take())
	require.Empty(t, x.err.Take())
}

func TestExitCodes(t *testing.T) {
	x := quiet(t)
	for line, want := range map[string]int{
		"ls /":                  codeOK,
		"ls /none":              codeFailed,
		"ls":                    codeFailed,
		"ls -y /":               codeFailed,
		"ls none":               codeFailed,
		"set -v x /zookeeper y": codeFailed,
		"listquota /none":       codeOK,
		"setquota -n 0 /none":   codeFailed,
		"printwatches maybe":    codeFailed,
		"redo 99":               codeFailed,
		"nonsense":              codeUnknown,
		"help nonsense":         codeUnknown,
		"help ls":               codeOK,
		"# ls /none":            codeOK,
	} {
		x.code = 0
		out, errs, code := x.do(line)
		require.Equal(t, want, code, "%s\n%s%s", line, out, errs)
		if want != codeOK || line == "listquota /none" {
			require.NotEmpty(t, errs, line)
		}
	}
}

// No command leaves words unused, which often are data without quotes. zkCli.sh does.
func TestTooManyArguments(t *testing.T) {
	x, z := quiet(t), open(t, Options{ZkCli: true, Quiet: true})
	root := x.tree()
	x.do("create " + root + "/a 1")
	for _, c := range commands() {
		if c.name == "quit" || c.name == "close" || c.name == "connect" {
			continue // the session goes on
		}
		words := c.name + strings.Repeat(" "+root+"/a", c.wordsMax)
		if c.name == "printwatches" || c.name == "redo" {
			words = c.name + " off"
		}
		out, errs, code := x.do(words + " words of mine")
		require.Equal(t, codeFailed, code, words)
		require.Empty(t, out)
		if !c.refusesMore {
			require.Contains(t, errs, c.name+`: too many arguments, from "words" on`+"\n")
			require.Contains(t, errs, "put quotes around ")
		}
	}
	out, errs, code := x.do("set " + root + "/a two words")
	require.Equal(t, codeFailed, code)
	require.Empty(t, out)
	require.Equal(t, `set: too many arguments, from "words" on`+"\n  put quotes around data with blanks, as in set "+
		"/app 'two words'\n", errs)
	errs = x.fails("create " + root + "/b two words")
	require.Contains(t, errs, "put quotes around data with blanks, as in create /app 'two words'")
	out, _, _ = x.do("get " + root + "/a")
	require.Equal(t, "1\n", out)

	_, errs, code = z.do("set " + root + "/a two words")
	require.Equal(t, codeOK, code, errs)
	out, _, _ = z.do("get " + root + "/a")
	require.Equal(t, "two\n", out)
	errs = z.fails("create " + root + "/b two words")
	require.NotContains(t, errs, "put quotes around", "zkCli.sh says nothing more")
}

func TestScript(t *testing.T) {
	x := quiet(t)
	root := x.tree()
	code := x.Script(t.Context(), strings.NewReader("create "+root+"/a 1\n\n# a comment\n"+
		"get "+root+"/a\nget "+root+"/b\nls "+root+"\nquit\nls /\n"))
	require.Equal(t, codeOK, code)
	require.Equal(t, "1\n[a]\n", x.out.Take())
	require.Equal(t, "Created "+root+"/a\nNode does not exist: "+root+"/b\n", x.err.Take())

	x = quiet(t)
	require.Equal(t, codeUnknown, x.Script(t.Context(), strings.NewReader("ls /\nnonsense")))
	x = quiet(t)
	require.Equal(t, codeFailed, x.Script(t.Context(), strings.NewReader(strings.Repeat("x", 2<<20))))
	require.Contains(t, x.err.Take(), "a line may have at most a megabyte")
	x = quiet(t)
	folder := must.Do(os.Open(t.TempDir()))(t)
	defer folder.Close()
	require.Equal(t, codeFailed, x.Script(t.Context(), folder))
	require.Regexp(t, `^commands cannot be read: .*: it is a directory, not a file\n$`, x.err.Take())
}

// A script that waits for its next line ends with its context.
func TestScriptIsInterrupted(t *testing.T) {
	x := quiet(t)
	client, far := net.Pipe()
	defer far.Close()
	defer client.Close()
	interrupt := make(chan os.Signal, 1)
	ctx, cancel := UntilInterrupt(t.Context(), interrupt)
	defer cancel()
	interrupt <- os.Interrupt
	require.Equal(t, codeInterrupted, x.Script(ctx, client))
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := l.Addr().String()
	l.Close()
	x := open(t, Options{Servers: dead, Quiet: true, ConnectWait: 50 * time.Millisecond})
	said := ""
	// the first attempt to connect may take longer
	for tries := 1; !strings.Contains(said, "connection refused"); tries++ {
		require.LessOrEqual(t, tries, 1000, said)
		errs := x.fails("get /a")
		require.True(t, strings.HasPrefix(errs, "KeeperErrorCode = ConnectionLoss for /a\n"), errs)
		require.Contains(t, errs, "check that a server runs at "+dead)
		said = errs
	}
	_, _, code := x.do("version")
	require.Equal(t, codeOK, code)

	for _, servers := range []string{"", "/", "h:p:q:", "h/a//b"} {
		o := Options{Servers: servers, Timeout: time.Second, Out: new(cluster.Output), Err: new(cluster.Output)}
		_, err = New(o)
		require.Error(t, err, servers)
		var f *failure
		require.True(t, errors.As(err, &f))
	}
}

func TestConnectAndClose(t *testing.T) {
	x := open(t, Options{})
	x.must("ls /")
	x.out.Take()
	x.must("close")
	out, _, code := x.do("ls /")
	require.Equal(t, codeFailed, code)
	require.Equal(t, "Not connected\n", out)
	x.must("connect " + address + "/zookeeper")
	require.Contains(t, x.must("ls /"), "[config, quota]\n")
	require.Contains(t, x.must("history"), "0 - ls /\n1 - close\n2 - ls /\n3 - connect")
	require.Contains(t, x.must("redo 0"), "[config, quota]\n")
	require.Contains(t, x.must("history"), "6 - ls /\n7 - history\n")
	x.fails("connect /")
	require.Contains(t, x.must("ls /"), "[config, quota]\n") // the old session is kept
	x.must("quit")
	require.True(t, x.isOver)
}

func TestRedo(t *testing.T) {
	x := quiet(t)
	x.must("ls /zookeeper")
	x.do("redo 7")
	require.Equal(t, "No redoing redos\n", x.fails("redo 1"))
	x.do("nonsense")
	_, _, code := x.do("redo 3")
	require.Equal(t, codeUnknown, code)
}

func TestWatches(t *testing.T) {
	x := open(t, Options{})
	root := x.tree("/a")
	event := func(kind, path string) string {
		return "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:" + kind + " path:" + path + " zxid: "
	}
	x.must("get -w "+root+"/a", "get -w "+root+"/a", "ls -w "+root+"/a")
	require.Contains(t, x.must("set "+root+"/a x"), event("NodeDataChanged", root+"/a"))
	require.Empty(t, x.must("set "+root+"/a y"))
	require.Contains(t, x.must("removewatches "+root+"/a"), event("ChildWatchRemoved", root+"/a")+"-1\n")
	require.Equal(t, "KeeperErrorCode = No such watcher for "+root+"/a\n", x.fails("removewatches "+root+"/a"))

	// One event for data and child watch together.
	x.must("get -w "+root+"/a", "ls -w "+root+"/a")
	require.Equal(t, 1, strings.Count(x.must("delete "+root+"/a"), "NodeDeleted"))

	x.must("addWatch " + root)
	x.must("create " + root + "/b")
	require.Contains(t, x.must("set "+root+"/b 1"), event("NodeDataChanged", root+"/b"))
	require.Contains(t, x.must("set "+root+"/b 2"), event("NodeDataChanged", root+"/b"))
	x.must("printwatches off")
	require.Empty(t, x.must("set "+root+"/b 3"))
	require.Equal(t, "printwatches is off\n", x.must("printwatches"))
	x.must("printwatches on")
	require.Contains(t, x.must("removewatches "+root), event("PersistentWatchRemoved", root))
	require.Empty(t, x.must("set "+root+"/b 4"))

	x.must("get -w "+root, "addWatch "+root)
	require.Empty(t, x.must("close"))

	x = open(t, Options{ZkCli: true})
	require.Contains(t, x.must("sync /"), event("None", "null")+"-1\n")
	require.Equal(t, "\nWATCHER::\n\nWatchedEvent state:Closed type:None path:null zxid: -1\n", x.must("close"))
}

// Whatever does not compare in a transcript, in JSON.
func TestJSON(t *testing.T) {
	x := open(t, Options{JSON: true, Quiet: true})
	root := newRoot(t)
	decode := func(text string) (v map[string]any) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(text), &v), text)
		require.Equal(t, 1, strings.Count(text, "\n"))
		return v
	}
	require.Equal(t, root, decode(x.must("create " + root + " text"))["path"])
	v := decode(x.must("get -s " + root))
	require.Equal(t, "text", v["data"])
	require.EqualValues(t, 4, v["stat"].(map[string]any)["dataLength"])
	require.Regexp(t, "^0x[0-9a-f]+$", v["stat"].(map[string]any)["cZxid"])
	x.must("set -b " + root + " /w==")
	require.Equal(t, "/w==", decode(x.must("get " + root))["base64"])
	x.must("create " + root + "/n")
	v = decode(x.must("get " + root + "/n"))
	require.NotContains(t, v, "data")
	require.NotContains(t, v, "base64")
	require.Equal(t, []any{"n"}, decode(x.must("ls " + root))["children"])
	require.Equal(t, []any{}, decode(x.must("ls " + root + "/n"))["children"])
	require.EqualValues(t, 1, decode(x.must("getAllChildrenNumber " + root))["count"])
	require.Equal(t, []any{map[string]any{"scheme": "world", "id": "anyone", "perms": "cdrwa"}},
		decode(x.must("getAcl " + root))["acl"])
	require.Equal(t, root+"\n"+root+"/n\n",
		strings.ReplaceAll(strings.ReplaceAll(x.must("ls -R "+root), `{"path":"`, ""), `"}`, ""))
	x.must("setquota -n 9 " + root)
	require.EqualValues(t, 2, decode(x.must("listquota " + root))["used"].(map[string]any)["count"])
	x.must("delquota "+root, "getEphemerals", "whoami", "config -s", "version", "sync /", "help", "history",
		"tree "+root, "addWatch "+root)
	x.must("printwatches on")
	require.Equal(t, "NodeDataChanged", decode(strings.SplitAfter(x.must("set "+root+" x"), "\n")[0])["type"])

	v = decode(x.fails("get /none"))
	require.Equal(t, "Node does not exist: /none", v["error"])
	require.NotEmpty(t, v["hint"])
	require.EqualValues(t, 1, v["exitCode"])
}

// An answer that does not say what is wrong is followed by what says it, in scripts too, but not as zkCli.sh.
func TestVagueAnswersAreExplained(t *testing.T) {
	root := open(t, Options{Quiet: true}).tree()
	for line, want := range map[string]string{
		"ls":                             "the path is missing",
		"set " + root:                    "the data is missing",
		"setAcl":                         "the path is missing",
		"setAcl " + root:                 "the acl is missing",
		"addauth":                        "the scheme is missing",
		"setquota -n 1":                  "the path is missing",
		"printwatches maybe":             "it must be on or off",
		"redo":                           "`history` shows the numbers",
		"version x":                      "version takes no more arguments",
		"addWatch -m ONCE " + root:       "-m must be PERSISTENT or PERSISTENT_RECURSIVE",
		"reconfig":                       "name servers with -add or -remove",
		"reconfig -remove 3":             "set reconfigEnabled=true in the zoo.cfg of every server",
		"delete /zookeeper":              "the root and what it keeps below /zookeeper",
		"setAcl " + root + " no:x:r":     `there is no scheme "no"`,
		"setAcl " + root + " digest:x:r": "an ACL is scheme:id:perms",
		"setAcl -R " + root + " no:x:r":  `there is no scheme "no"`,
		"create " + root + "/n d no:x:r": `there is no scheme "no"`,
		"nonsense":                       "`help` lists the commands",
	} {
		_, errs, code := open(t, Options{Quiet: true}).do(line)
		require.NotZero(t, code, line)
		require.Contains(t, errs, "\n  ", line)
		require.Contains(t, errs, want, line)
		_, errs, code = open(t, Options{Quiet: true, ZkCli: true}).do(line)
		require.NotZero(t, code, line)
		require.NotContains(t, errs, want, line)
		require.Equal(t, line == "nonsense", strings.Contains(errs, "ZooKeeper -server host:port"), line)
	}
}

// Every error has a hint, and it is shown to people.
func TestHints(t *testing.T) {
	x := open(t, Options{Quiet: true, Hints: true, ErrColours: true})
	root := x.tree()
	x.must("create " + root + "/locked d world:anyone:r")
	for line, want := range map[string]string{
		"get /none":                        "see what is there with `ls /`",
		"create " + root:                   "change its data with `set`",
		"delete " + root:                   "`deleteall " + root + "` deletes it",
		"set -v 9 " + root + " x":          "look at its versions with `stat " + root + "`",
		"set " + root + "/locked x":        "`addauth digest user:password`",
		"get -y /":                         "usage: get [-s] [-w] [-b] [-x] path",
		"create /x d nobody":               "an ACL is scheme:id:perms",
		"nonsense":                         "`help` lists the commands",
		"removewatches " + root:            "they are set by get -w",
		"reconfig -remove 3":               "reconfigEnabled",
		"create " + root + "/q d fo:o:r":   `there is no scheme "fo": it must be one of auth,`,
		"import /none.json":                "name a file that `export` has written",
		"deleteall /zookeeper":             "belongs to the system",
		"setquota -n 0 " + root:            "`delquota -n` removes the limit",
		"find -g ( /":                      "RE2",
		"find -k lock /":                   "kinds are persistent",
		"find -n [ /":                      "globs are as in file names",
		"reconfig -file /none":             "name a file with lines like",
		"set -b " + root + " %%%":          "padded with =",
		"delete -v many " + root:           "give a number",
		"redo x":                           "`history` shows the numbers",
		"create " + root + "/no/child":     "a parent must exist",
		"setAcl " + root + " world:anyone": "with perms from cdrwa",
	} {
		_, errs, code := x.do(line)
		require.NotZero(t, code, line)
		require.Contains(t, errs, want, line)
		require.Contains(t, errs, "\x1b[31m", line)
	}
	errs := x.fails("addauth unheard of") // last: the server cuts the connection
	require.Contains(t, errs, "does not know the scheme")
}

func TestFollow(t *testing.T) {
	x, other := quiet(t), quiet(t)
	root := x.tree()
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		close(ready)
		x.line(context.Background(), "watch -d -c 3 "+root)
	}()
	<-ready
	require.Eventually(t, func() bool { return x.link.followed.Load() != nil }, time.Minute, time.Millisecond)
	// The watch may be set after the first of these; three of the later ones are seen.
	for {
		other.must("create "+root+"/a one", "set "+root+"/a two", "delete "+root+"/a")
		select {
		case <-done:
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	require.Equal(t, codeOK, x.code)
	lines := x.out.Take()
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{3} Node(Created|DataChanged|Deleted) `+root+`/a 0x[0-9a-f]+$`, lines)
	require.Equal(t, 3, strings.Count(lines, " Node"))
}

// A watch outlasts a lost connection, also one that other commands would not wait for, and says that it had one.
func TestFollowOutlastsConnections(t *testing.T) {
	r := newRelay(t, "127.0.0.1:0")
	x, other := open(t, Options{Servers: r.Addr(), Quiet: true, ConnectWait: 100 * time.Millisecond}), quiet(t)
	root := other.tree()
	require.Eventually(t, func() bool { // a busy machine may not connect in so short a time
		_, _, code := x.do("sync /")
		return code == codeOK
	}, time.Minute, time.Millisecond)
	interrupt := make(chan os.Signal, 1)
	ctx, cancel := UntilInterrupt(t.Context(), interrupt)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.line(ctx, "watch "+root)
	}()
	shows := func(what string, meanwhile func()) {
		t.Helper()
		var shown strings.Builder
		require.Eventually(t, func() bool {
			meanwhile()
			shown.WriteString(x.out.Take())
			return strings.Contains(shown.String(), what)
		}, time.Minute, time.Millisecond, what)
	}
	change := func() { other.must("set " + root + " x") }
	shows("NodeDataChanged "+root, change)
	r.Close()
	lost, release := x.link.guard(t.Context())
	<-lost.Done()
	release()
	newRelay(t, r.Addr())
	shows("WatchRearmed "+root+" (connected again, changes in between may be missing)", func() {})
	shows("NodeDataChanged "+root, change)
	interrupt <- os.Interrupt
	<-done
	require.Equal(t, codeInterrupted, x.code)
}

func TestFollowIsInterrupted(t *testing.T) {
	x := quiet(t)
	interrupt := make(chan os.Signal, 1)
	ctx, cancel := UntilInterrupt(t.Context(), interrupt)
	defer cancel()
	go func() { interrupt <- os.Interrupt }()
	require.Equal(t, codeInterrupted, x.Command(ctx, []string{"watch", "/"}))
	require.Equal(t, "Interrupted\n", x.err.Take())
}

func TestFind(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a", "/a/lock-1 secret", "/a/lock-2 'nothing here'", "/b")
	x.must("create -e "+root+"/b/lock-3 secret", "create -c "+root+"/c")
	require.Equal(t, root+"/a/lock-1\n"+root+"/a/lock-2\n"+root+"/b/lock-3\n", x.must("find -n lock-* "+root))
	require.Equal(t, root+"/a/lock-1\n"+root+"/b/lock-3\n", x.must("find -g ^sec "+root))
	require.Equal(t, root+"/b/lock-3\n", x.must("find -g ^sec -k ephemeral "+root))
	require.Equal(t, 6, strings.Count(x.must("find -k persistent "+root), "\n"))
	require.Equal(t, 7, strings.Count(x.must("find "+root), "\n"))
}

func TestCreateWithParents(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a")
	x.fails("create " + root + "/b/c/d data")
	for _, path := range []string{"/b/c/d", "/b/c/e", "/f"} {
		x.must("create -p " + root + path + " data")
		require.Equal(t, "data\n", x.must("get "+root+path))
	}
	x.fails("create -p " + root + "/b/c/d again")
	require.Equal(t, "null\n", x.must("get "+root+"/b/c"))
}

func TestDeleteAllInBatches(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a", "/a/b", "/a/b/c", "/d", "/e")
	x.must("deleteall -b 2 " + root)
	x.fails("stat " + root)
}

// A batch of long paths does not exceed what servers take in one request.
func TestDeleteAllOfLongPaths(t *testing.T) {
	x := quiet(t)
	root := x.tree()
	long := root + "/" + strings.Repeat("p", 2000)
	x.must("create " + long)
	for part := range 2 {
		txn := &client.Txn{}
		for i := range 400 {
			txn.Create(fmt.Sprintf("%s/%d-%d", long, part, i), nil, client.Persistent)
		}
		must.Do(x.link.client.Commit(t.Context(), txn))(t)
	}
	x.must("deleteall " + root)
	x.fails("stat " + root)
}

func TestHistoryFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "history")
	h := must.Do(readLines(file))(t)
	for _, line := range []string{
		"ls /", "ls /", "  ", "addauth digest bob:secret", "get /a", strings.Repeat("x", lineBytesMax+1),
	} {
		h.Add(line)
	}
	require.Equal(t, 2, h.Len())
	require.Equal(t, "get /a", h.At(0))
	require.NoError(t, h.save())

	other := must.Do(readLines(file))(t)
	other.Add("from another shell")
	require.NoError(t, other.save())
	h.Add("stat /")
	require.NoError(t, h.save())
	require.Equal(t, "ls /\nget /a\nfrom another shell\nstat /\n", string(must.ReadFile(t, file)))
	info := must.Do(os.Stat(file))(t)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	for i := range 2 * linesMax {
		h.Add(strings.Repeat("y", i%100+1))
	}
	require.NoError(t, h.save())
	h = must.Do(readLines(file))(t)
	require.Equal(t, linesMax, h.Len())

	require.Error(t, must.Err(readLines(filepath.Dir(file))))
	h.file, h.fresh = filepath.Join(file, "below"), 1
	require.Error(t, h.save())
}

// What is no file stays what it is: as root, a rename would put a file in the place of /dev/null. A link stays, too.
func TestOnlyFilesAreReplaced(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a 1")
	dir := t.TempDir()
	device, file, link := filepath.Join(dir, "device"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	l := must.Do(net.Listen("unix", device))(t)
	defer l.Close()
	require.NoError(t, os.WriteFile(file, []byte("ls /\n"), 0o600))
	require.NoError(t, os.Symlink(file, link))

	for _, name := range []string{device, link} {
		h := must.Do(readLines(name))(t)
		h.Add("get /a")
		require.NoError(t, h.save())
	}
	require.Contains(t, x.fails("export "+root+" "+device), "file cannot be written: ")
	require.Equal(t, os.ModeSocket, must.Do(os.Lstat(device))(t).Mode().Type())

	require.Equal(t, "ls /\nget /a\n", string(must.ReadFile(t, file)))
	x.must("export " + root + " " + link)
	require.Equal(t, os.ModeSymlink, must.Do(os.Lstat(link))(t).Mode().Type())
	require.Contains(t, string(must.ReadFile(t, file)), "warrenExport")
}

func TestComplete(t *testing.T) {
	x := quiet(t)
	root := x.tree("/apple", "/apple/x", "/apricot", "/banana")
	x.must("create '" + root + "/with blank'")
	complete := func(line string) string {
		c := x.complete(t.Context(), line, len(line))
		require.Equal(t, len(c.line), c.pos)
		return c.line
	}
	for line, want := range map[string]string{
		"":                          "",
		"cr":                        "create ",
		"getA":                      "getA",
		"getAl":                     "getAllChildrenNumber ",
		"ls " + root + "/a":         "ls " + root + "/ap",
		"ls " + root + "/app":       "ls " + root + "/apple",
		"ls " + root + "/apple":     "ls " + root + "/apple/",
		"ls " + root + "/apple/":    "ls " + root + "/apple/x ",
		"ls " + root + "/b":         "ls " + root + "/banana ",
		"ls " + root + "/c":         "ls " + root + "/c",
		"ls /none/x":                "ls /none/x",
		"ls " + root + "/w":         "ls '" + root + "/with blank' ",
		"ls '" + root + "/w":        "ls '" + root + "/with blank' ",
		"ls \"" + root + "/b":       "ls \"" + root + "/banana\" ",
		"get -s " + root + "/banan": "get -s " + root + "/banana ",
	} {
		require.Equal(t, want, complete(line), "%q", line)
	}
	c := x.complete(t.Context(), "ls "+root+"/ap -s", len("ls "+root+"/ap"))
	require.Equal(t, []string{root + "/apple", root + "/apricot"}, c.candidates)
	require.Equal(t, "apple    apricot\n", columns(c.candidates, 80))
	require.Equal(t, "apple\napricot\n", columns(c.candidates, 5))
	c = x.complete(t.Context(), "ls "+root+"/ban -s", len("ls "+root+"/ban"))
	require.Equal(t, "ls "+root+"/banana  -s", c.line)
	require.Contains(t, columns(make([]string, candidateMax+3), 80), "... and 3 more\n")
	x.must("close")
	require.Equal(t, "ls "+root+"/b", complete("ls "+root+"/b"))
}

// Flags, and words that have few values, are completed as well.
func TestCompleteArguments(t *testing.T) {
	x := quiet(t)
	for line, want := range map[string]string{
		"get -":           "-b  -s  -w  -x",
		"get -s -":        "-b  -w  -x",
		"get -q":          "get -q",
		"reconfig -f":     "reconfig -file ",
		"reconfig -":      "-add      -file     -members  -remove   -s        -v",
		"setquota -n 5 -": "-B  -N  -b",
		"set /a b -v -":   "set /a b -v -",
		"setAcl /a ": "auth::         digest:        ip:            sasl:          " +
			"world:anyone:  x509:",
		"setAcl /a w":                     "setAcl /a world:anyone:",
		"setAcl -R /a world:anyone:r,au":  "setAcl -R /a world:anyone:r,auth::",
		"create /a data auth::cdr":        "auth::cdrw  auth::cdra",
		"create /a data digest:b:h/h=:cd": "digest:b:h/h=:cdr  digest:b:h/h=:cdw  digest:b:h/h=:cda",
		"create -e /a data sasl:u:cdrw":   "create -e /a data sasl:u:cdrwa",
		"create /a w":                     "create /a w",
		"addauth d":                       "addauth digest ",
		"addauth digest d":                "addauth digest d",
		"addWatch -m PERSISTENT_":         "addWatch -m PERSISTENT_RECURSIVE ",
		"find -k e":                       "find -k ephemeral ",
		"printwatches of":                 "printwatches off ",
		"help getAl":                      "help getAllChildrenNumber ",
		"nonsense -":                      "nonsense -",
		"'' -":                            "'' -",
	} {
		c := x.complete(t.Context(), line, len(line))
		got := c.line
		if c.candidates != nil {
			got = strings.TrimSuffix(columns(c.candidates, 100), "\n")
		}
		require.Equal(t, want, got, "%q", line)
	}
}
