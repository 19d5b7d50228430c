package audit

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestFileIsAppendedAndRotated(t *testing.T) {
	fs := vfs.NewMem()
	for range 2 {
		a := &Log{fs: fs, name: "/a", user: "me"}
		require.NoError(t, a.open())
		require.NoError(t, a.write([]byte("line\n")))
		require.NoError(t, a.file.Close())
	}
	read := func(name string) int {
		info := must.Do(fs.Stat(name))(t)
		return int(info.Size())
	}
	require.Equal(t, 10, read("/a"))
	a := &Log{fs: fs, name: "/a"}
	for i := range files + 3 {
		require.NoError(t, a.write(make([]byte, fileBytes+i)))
	}
	require.NoError(t, a.write([]byte("x")))
	require.Equal(t, 1, read("/a"))
	for i := 1; i <= files; i++ {
		require.Equal(t, fileBytes+files+3-i, read(a.backup(i)))
	}
	require.Error(t, must.Err(fs.Stat(a.backup(files+1))))
	require.NoError(t, a.file.Close())
}

// The end of the log is read while it is written, across the change of files, and nothing of it is taken for more than
// it is.
func TestTail(t *testing.T) {
	fs := vfs.NewMem()
	require.Empty(t, must.Do(Tail(fs, "/a", 5))(t))
	a := &Log{fs: fs, name: "/a", user: "me"}
	line := func(path string) []byte {
		return a.appendLine(nil, []byte("session=0x5\tuser=bob\tip=10.0.0.1"), "create",
			(&subject{op: proto.OpCreate, path: []byte(path)}).appendTo(nil), failure, nil)
	}
	require.NoError(t, a.write(append(line("/first"), make([]byte, fileBytes)...)))
	require.NoError(t, a.write([]byte("\n")))
	for _, path := range []string{"/b", "/tab\tresult=success", "/c"} {
		require.NoError(t, a.write(line(path)))
	}
	require.NoError(t, a.write([]byte("2026-11-28 16:26:04,477 INFO audit: no operation\nhalf a li")))
	require.NoError(t, a.file.Close())

	all := must.Do(Tail(fs, "/a", 5))(t)
	require.Len(t, all, 3, "zeros without an end of line are none")
	require.NotZero(t, all[0].At)
	all[0].At = 0
	require.Equal(t, Entry{User: "bob", IP: "10.0.0.1", Session: "0x5", Operation: "create", Znode: "/c",
		Result: "failure", Detail: "znode_type=persistent"}, all[0])
	require.Equal(t, `/tab\tresult=success`, all[1].Znode)
	require.Equal(t, "failure", all[1].Result)
	require.Len(t, must.Do(Tail(fs, "/a", 2))(t), 2)
}

// A disk that is full in the middle of a line loses that line, and not the first one that fits again.
func TestLinesAfterAFullDiskAreWhole(t *testing.T) {
	fs := vfs.NewMem()
	a := must.Do(Open(fs, zaptest.NewLogger(t), "/audit.log"))(t)
	stopping := make(chan struct{})
	fs.SetCapacity(4096)
	for range 100 {
		a.Ended(1, "/before")
	}
	a.flush(stopping)
	fs.SetCapacity(0)
	a.Ended(1, "/after")
	a.flush(stopping)
	text := must.Do(vfs.ReadFile(fs, "/audit.log", 1<<20))(t)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		e, ok := parse(line)
		require.True(t, ok, line)
		require.Equal(t, 1, strings.Count(line, "operation="), line)
		require.Equal(t, i == len(lines)-1, e.Znode == "/after", line)
	}
	require.Greater(t, len(lines), 10, "those that fit stay")
}

// The log goes on whole behind a line that a crash has cut off, and in its file after an operator has emptied, renamed
// or removed it.
func TestLogGoesOnAfterOthersTouchedItsFile(t *testing.T) {
	const file, mark = "/audit.log", "half a li"
	for _, c := range []struct {
		name   string
		touch  func(t *testing.T, fs *vfs.Mem)
		reopen bool
		want   []string // a part of each line
	}{
		{name: "cut off", reopen: true, want: []string{"znode=/before", mark, "znode=/after"},
			touch: func(t *testing.T, fs *vfs.Mem) {
				f := must.Do(fs.OpenWrite(file))(t)
				size := must.Do(f.Size())(t)
				_, err := f.WriteAt([]byte(mark), size)
				require.NoError(t, errors.Join(err, f.Close()))
			}},
		{name: "emptied", want: []string{"znode=/after"}, touch: func(t *testing.T, fs *vfs.Mem) {
			f := must.Do(fs.OpenWrite(file))(t)
			require.NoError(t, errors.Join(f.Truncate(0), f.Close()))
		}},
		{name: "renamed", want: []string{"znode=/after"}, touch: func(t *testing.T, fs *vfs.Mem) {
			require.NoError(t, fs.Rename(file, file+".old"))
		}},
		{name: "replaced", want: []string{"znode=/after"}, touch: func(t *testing.T, fs *vfs.Mem) {
			require.NoError(t, fs.Remove(file))
			f, err := fs.Create(file)
			require.NoError(t, errors.Join(err, f.Close()))
		}},
		{name: "removed", want: []string{"znode=/after"}, touch: func(t *testing.T, fs *vfs.Mem) {
			require.NoError(t, fs.Remove(file))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, stopping := vfs.NewMem(), make(chan struct{})
			a := must.Do(Open(fs, zaptest.NewLogger(t), file))(t)
			a.Ended(1, "/before")
			a.flush(stopping)
			c.touch(t, fs)
			if c.reopen {
				a = must.Do(Open(fs, zaptest.NewLogger(t), file))(t)
			}
			a.Ended(1, "/after")
			a.flush(stopping)
			text := must.Do(vfs.ReadFile(fs, file, 1<<20))(t)
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			require.Len(t, lines, len(c.want), "%s", text)
			for i, want := range c.want {
				require.Contains(t, lines[i], want)
				require.NotContains(t, lines[i], "\x00")
			}
		})
	}
}

// Requests wait while the disk does not take lines.
func TestLogHoldsRequestsBack(t *testing.T) {
	a := &Log{wake: make(chan struct{}, 1)}
	line := func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) }
	for range backlog >> 20 {
		require.False(t, a.Full())
		a.add(line)
	}
	require.True(t, a.Full())
}

func FuzzSubject(f *testing.F) {
	open := wire.ACL(31, "world", "anyone")
	for _, r := range []wire.Request{
		wire.Create("/a", []byte("d"), open, 2),
		wire.CreateTTL("/a", nil, open, 5, 1), wire.SetACL("/a", open, 1), wire.Delete("/a", 1),
		wire.Multi(wire.Create("/a", nil, open, 0), wire.Check("/a", 1), wire.SetData("/a", nil, 1),
			wire.Delete("/a", 1)),
	} {
		f.Add(int32(r.Op), r.Body, []byte{0, 0, 0, 1, 'x'})
	}
	a := &Log{}
	f.Fuzz(func(t *testing.T, op int32, body, reply []byte) {
		subjects := Subject(proto.OpCode(op), body)
		for rest, ok := subjects, len(subjects) > 0; ok; {
			_, rest, ok = nextSubject(rest)
			ok = ok && len(rest) > 0
		}
		for _, line := range [][]byte{
			a.appendLine(nil, []byte("user=u"), "create", subjects, success, reply),
			a.appendMulti(nil, []byte("user=u"), subjects, success, reply),
		} {
			require.NotContains(t, strings.TrimSuffix(strings.ReplaceAll(string(line), "\n2", "2"), "\n"), "\n")
		}
	})
}
