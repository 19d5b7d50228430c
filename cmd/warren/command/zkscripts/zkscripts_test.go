package zkscripts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

var twoSnapshots = cmdline.Fixtures + "zookeeper-3.8/02-snapshot-and-log/version-2/"

// runWith runs warren with these bytes as standard input.
func runWith(in string, args ...string) (code int, out string) {
	var stdout bytes.Buffer
	root := cli.Root(Commands()...)
	root.SetArgs(args)
	root.SetIn(strings.NewReader(in))
	root.SetOut(&stdout)
	root.SetErr(&stdout)
	err := root.Execute()
	return cli.ExitCode(err), stdout.String()
}

// TestZkCleanup has the files of the example in operations 6.3.
func TestZkCleanup(t *testing.T) {
	cmdline.InUTC(t)
	dir := t.TempDir()
	v := filepath.Join(dir, "data", "version-2")
	require.NoError(t, os.MkdirAll(v, 0o755))
	t.Setenv("ZOOCFGDIR", dir)
	require.NoError(t,
		os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte("dataDir="+dir+"/data\nclientPort=2181\n"), 0o644))
	snap := must.ReadFile(t, twoSnapshots+"snapshot.0")
	at := time.Date(2026, 11, 21, 18, 56, 51, 0, time.UTC)
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(v, name), data, 0o644))
		require.NoError(t, os.Chtimes(filepath.Join(v, name), at, at))
	}
	for _, z := range []string{"1", "5", "9", "c", "f"} {
		write("snapshot."+z, snap)
	}
	for _, z := range []string{"1", "3", "6", "a", "d", "10"} {
		write("log."+z, nil)
	}
	write("snapshot.11", snap[:100]) // damaged, does not count
	write("tmp.snapshot.12", nil)    // a server may be writing it

	for _, args := range [][]string{{}, {"-n", "2"}, {"-n", "x"}, {"-n"}, {"-q"}} {
		code, _, errs := run(append([]string{"zkCleanup.sh"}, args...)...)
		require.Equal(t, cli.ExitUnexpected, code, "%v: %s", args, errs)
	}
	code, out, errs := run("zkCleanup.sh", "-n", "6")
	require.Zero(t, code, errs)
	require.Empty(t, out, "there are only five")

	code, out, errs = run("zkCleanup.sh", "-n", "3")
	require.Zero(t, code, errs)
	want := ""
	for _, name := range []string{"log.3", "log.1", "snapshot.5", "snapshot.1"} {
		want += "Removing file: Nov 21, 2026, 6:56:51 PM\t" + filepath.Join(v, name) + "\n"
	}
	require.Equal(t, want, out)
	left := must.Do(vfs.OS().List(v))(t)
	require.ElementsMatch(t, []string{"log.6", "log.a", "log.d", "log.10", "snapshot.9", "snapshot.c", "snapshot.f",
		"snapshot.11", "tmp.snapshot.12"}, left)
}

// damagedLog returns a copy of a log whose third record has a wrong checksum.
func damagedLog(t *testing.T) string {
	t.Helper()
	return filepath.Join(cmdline.CopyFixture(t, "06-crc-mismatch-middle-record"), "version-2", "log.35")
}

func TestTxnLogToolkitDump(t *testing.T) {
	cmdline.InUTC(t)
	file := damagedLog(t)
	code, out, errs := run("zkTxnLogToolkit.sh", file)
	require.Zero(t, code, errs)
	const third = "11/21/26, 5:41:28 AM UTC session 0x100002068d90000 cxid 0x1000067 zxid 0x37 delete " +
		"'/seq/item-0000000000\n"
	require.Contains(t, out, "],false,14\nCRC ERROR - "+third+third)
	require.Contains(t, out, "\nEOF reached after 10 txns.\n")

	code, out, _ = run("zkTxnLogToolkit.sh", "-d", "/none")
	require.Equal(t, cli.ExitUnexpected, code)
	require.Equal(t, "File doesn't exist or not readable: /none\n", out)
	for _, args := range [][]string{{}, {"-x", file}, {file, file}, {twoSnapshots + "snapshot.0"}} {
		code, _, _ = run(append([]string{"zkTxnLogToolkit.sh"}, args...)...)
		require.Equal(t, cli.ExitUnexpected, code, "%v", args)
	}
	whole := twoSnapshots + "log.35"
	_, out, _ = run("zkTxnLogToolkit.sh", whole)
	_, same, _ := cmdline.Run(files.Commands(), "wal", "dump", "--output", "toolkit", whole)
	require.Equal(t, same, out)
}

func TestTxnLogToolkitRecover(t *testing.T) {
	cmdline.InUTC(t)
	const third = "11/21/26, 5:41:28 AM UTC session 0x100002068d90000 cxid 0x1000067 zxid 0x37 delete " +
		"'/seq/item-0000000000\n"
	const ask = "Would you like to fix it (Yes/No/Abort) ? "
	const header = "ZooKeeper Transactional Log File with dbid 0 txnlog format version 2\n"
	for name, c := range map[string]struct {
		args  []string
		in    string
		code  int
		out   string // with % for the name of the file
		fixed bool
	}{
		"without asking": {[]string{"-ry"}, "", 0,
			"CRC FIXED - " + third + "EOF reached after 10 txns.\nRecovery file % has been written with 1 fixed " +
				"CRC error(s)\n", true},
		"yes": {[]string{"-r"}, "what\nYES\n", 0,
			"CRC ERROR - " + third + ask + ask + "EOF reached after 10 txns.\n" +
				"Recovery file % has been written with 1 fixed CRC error(s)\n", true},
		"no": {[]string{"-r"}, "n\n", 0,
			"CRC ERROR - " + third + ask + "EOF reached after 10 txns.\n" +
				"Recovery file % has been written with 0 fixed CRC error(s)\n", false},
		"abort":        {[]string{"-r"}, "abort\n", cli.ExitUnexpected, "CRC ERROR - " + third + ask, false},
		"nobody there": {[]string{"-r"}, "", cli.ExitUnexpected, "CRC ERROR - " + third + ask, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := damagedLog(t)
			before := must.ReadFile(t, file)
			args := append(append([]string{"zkTxnLogToolkit.sh"}, c.args...), file)
			require.NoError(t, os.Chmod(file, 0o600))
			code, out := runWith(c.in, args...)
			require.Equal(t, c.code, code)
			require.Equal(t, header+strings.ReplaceAll(c.out, "%", file+".fixed"), out)
			after := must.ReadFile(t, file)
			require.True(t, bytes.Equal(before, after), "the log itself is not changed")
			if c.code != 0 {
				require.NoFileExists(t, file+".fixed")
				return
			}
			info := must.Do(os.Stat(file + ".fixed"))(t)
			require.EqualValues(t, 0o600, info.Mode().Perm(), "no more users may read it than the log")
			sum, err := wal.Scan(vfs.OS(), file+".fixed", func(*wal.Record) error { return nil })
			if c.fixed {
				require.NoError(t, err)
				require.Equal(t, 10, sum.Records)
			} else {
				require.ErrorIs(t, err, wal.ErrCorrupt)
			}
			code, out = runWith("", args...)
			require.Equal(t, cli.ExitUnexpected, code)
			require.Equal(t, header+"Recovery file "+file+".fixed already exists or not writable\n", out)
		})
	}
}

func TestTxnLogToolkitChop(t *testing.T) {
	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	file := filepath.Join(dir, "version-2", "log.35")
	for _, zxid := range []string{"0x37", "55"} {
		code, out, errs := run("zkTxnLogToolkit.sh", "-c", "-z", zxid, file)
		require.Zero(t, code, errs)
		require.Contains(t, out, "\nChopping at 37 new log has 3 records\n")
		sum := must.Do(wal.Scan(vfs.OS(), file+".chopped55", func(*wal.Record) error { return nil }))(t)
		require.Equal(t, []any{3, int64(298), int64(298)}, []any{sum.Records, sum.Size, sum.End}, "as ZooKeeper's")
		require.NoError(t, os.Remove(file+".chopped55"))
	}
	for _, zxid := range []string{"0x99", "0x1"} {
		code, _, errs := run("zkTxnLogToolkit.sh", "-c", "-z", zxid, file)
		require.Equal(t, cli.ExitUnexpected, code)
		require.Contains(t, errs, "does not contain zxid "+zxid)
	}
	require.Empty(t, must.Glob(t, file+".*"))
}

// FuzzTxnLog reads anything: it ends, and what it read is what stands there.
func FuzzTxnLog(f *testing.F) {
	for _, name := range []string{"02-snapshot-and-log", "03-torn-tail-zeros", "06-crc-mismatch-middle-record"} {
		b := must.ReadFile(f, cmdline.Fixtures+"zookeeper-3.8/"+name+"/version-2/log.35")
		f.Add(b[:2048])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		log, err := newTxnLog("log.1", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for at := int64(files.LogHeaderSize); ; {
			txn, ok, err := log.next()
			if err != nil || !ok {
				return
			}
			require.Equal(t, at, txn.record.Offset)
			require.True(t, bytes.Equal(b[at:at+int64(len(txn.bytes))], txn.bytes))
			at += int64(len(txn.bytes))
			require.LessOrEqual(t, cap(log.buf), len(b))
		}
	})
}

func TestSnapshotScripts(t *testing.T) {
	cmdline.InUTC(t)
	file := twoSnapshots + "snapshot.34"
	for name, c := range map[string]struct{ script, same []string }{
		"formatter": {[]string{"zkSnapShotToolkit.sh", file},
			[]string{"snapshot", "dump", "--output", "toolkit", file}},
		"formatter with data": {[]string{"zkSnapShotToolkit.sh", "-d", file},
			[]string{"snapshot", "dump", "--output", "toolkit", "--data", file}},
		"summary": {[]string{"zkSnapshotRecursiveSummaryToolkit.sh", file, "/persist", "1"},
			[]string{"snapshot", "tree", file, "/persist", "--depth", "1"}},
	} {
		code, out, errs := run(c.script...)
		require.Zero(t, code, "%s: %s", name, errs)
		_, same, _ := cmdline.Run(files.Commands(), c.same...)
		require.Equal(t, same, out, name)
		require.NotEmpty(t, out)
	}
	code, out, errs := run("zkSnapShotToolkit.sh", "-json", file)
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, `[1,0,{"progname":"SnapshotFormatter.java"`), out)
	for _, args := range [][]string{{"zkSnapShotToolkit.sh"}, {"zkSnapShotToolkit.sh", "-x", file},
		{"zkSnapShotToolkit.sh", "-d"}, {"zkSnapshotRecursiveSummaryToolkit.sh", file},
		{"zkSnapshotRecursiveSummaryToolkit.sh", file, "/", "x"}, {"zkSnapshotComparer.sh", "-l", file},
		{"zkSnapshotComparer.sh", "-l", file, "-r", file, "-b", "1", "-n", "x"}} {
		code, _, _ = run(args...)
		require.Equal(t, cli.ExitUsage, code, "%v", args)
	}
}

// TestSnapshotComparerInteractive asks for depths and paths; the words are those of ZooKeeper 3.8.
func TestSnapshotComparerInteractive(t *testing.T) {
	args := []string{"zkSnapshotComparer.sh", "-l", twoSnapshots + "snapshot.0", "-r", twoSnapshots + "snapshot.34",
		"-b", "5", "-n", "1"}
	code, out := runWith("\n/seq\nabc\n9\n4\n\n\n\n\n", append(args, "-i")...)
	require.Zero(t, code, out)
	_, out, found := strings.Cut(out, "Count of nodes at depth 4: 2\n\n")
	require.True(t, found)
	prompt := func(depth int) string {
		return fmt.Sprintf("Current depth is %d\n- Press enter to move to print current depth layer;\n"+
			"- Type a number to jump to and print all nodes at a given depth;\n"+
			"- Enter an ABSOLUTE path to print the immediate subtree of a node. Path must start with '/'.\n", depth)
	}
	const thresholds = "Printing analysis for nodes difference larger than 5 bytes or node count " +
		"difference larger than 1.\n"
	require.True(t, strings.HasSuffix(out, "\n\nAll layers compared.\n"), out)
	out, _, found = strings.Cut(out, prompt(4)+thresholds+"Analysis for depth 4\n")
	require.True(t, found, "the depth of a number is the current one")
	require.Equal(t, prompt(0)+thresholds+
		"Analysis for depth 0\nNode  found in both trees. Delta: 390 bytes, 26 descendants\n\n"+
		prompt(1)+thresholds+"Analysis for node /seq\nFiltered right node /seq/item-0000000000 of size 1\n"+
		"Filtered right node /seq/item-0000000002 of size 1\nFiltered right node /seq/item-0000000003 of size 1\n\n"+
		prompt(1)+thresholds+"Input abc is not valid. Depth must be in range [0, 4]. "+
		"Path must be an absolute path which starts with '/'.\n\n"+
		prompt(1)+thresholds+"Depth must be in range [0, 4]\n"+
		prompt(1)+thresholds+"Analysis for depth 4\n"+
		"Node /zookeeper/quota/qapp/zookeeper_limits found only in right tree. Descendant size: 55. "+
		"Descendant count: 0\n"+
		"Node /zookeeper/quota/qapp/zookeeper_stats found only in right tree. Descendant size: 15. "+
		"Descendant count: 0\n\n", out)

	code, out = runWith("", append(args, "-d")...)
	require.Zero(t, code)
	require.Contains(t, out, "Analysis for depth 0\nComparing  to \nsame\nNode  found in both")
	require.Contains(t, out, "Comparing /zookeeper to /box\nright is less\nFiltered right node /box of size 2\n")
	code, out = runWith("\n", append(args, "-i")...)
	require.Zero(t, code)
	require.True(t, strings.HasSuffix(out, prompt(1)), "nobody asks any more")
}
