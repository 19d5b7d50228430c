package audit

import (
	"bytes"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// Log is the audit log of a server.
type Log struct {
	log  *zap.Logger
	fs   vfs.FS
	name string // "" is standard output
	user string // of this process

	file vfs.File // owned by the goroutine of Run
	size int64    // of file
	torn bool     // the last line of file does not end

	mu struct {
		sync.Mutex
		lines []byte
	}
	wake chan struct{} // holds a token when there are lines
}

const (
	// backlog is how many bytes of lines may be unwritten before requests have to wait.
	backlog = 8 << 20
	// fileBytes is the size at which a file is renamed to .1, and so on, and a new one is begun.
	fileBytes = 10 << 20
	// files is how many renamed files are kept.
	files = 10
	// lastPatience is how long the end of the server waits for a reader of standard output.
	lastPatience = time.Second
)

// Open opens the audit log in a file; "-" is standard output. A relative name is in the directory of the logs,
// ZOO_LOG_DIR.
func Open(fs vfs.FS, log *zap.Logger, file string) (*Log, error) {
	a := &Log{log: log, fs: fs, user: ProcessUser(), wake: make(chan struct{}, 1)}
	if file == "-" {
		return a, nil
	}
	a.name = path(file)
	if err := a.open(); err != nil {
		return nil, err
	}
	return a, nil
}

// path is where a file of the audit log is.
func path(file string) string {
	if dir := os.Getenv("ZOO_LOG_DIR"); dir != "" && !filepath.IsAbs(file) {
		return filepath.Join(dir, file)
	}
	return file
}

// Check returns why Open would fail for the file. It changes nothing.
func Check(fsys vfs.FS, file string) error {
	if file == "-" {
		return nil
	}
	name := path(file)
	_, err := fsys.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		name = filepath.Dir(name) // in which it will be made
		_, err = fsys.Stat(name)
	}
	if permissions, ok := fsys.(vfs.Permissions); ok && err == nil {
		err = permissions.MayWrite(name)
	}
	return err
}

// ProcessUser is the name of the user that this process runs as.
func ProcessUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// Run writes lines until the server stops and the applier has ended. It is the goroutine of the log.
func (a *Log) Run(stopping, applied <-chan struct{}) {
	for stops := false; !stops; {
		select {
		case <-a.wake:
			a.flush(stopping)
		case <-stopping:
			stops = true
		}
	}
	a.event("serverStop", invoked)
	select {
	case <-a.wake:
		a.flush(stopping)
		<-applied
	case <-applied:
	}
	a.flush(stopping)
	a.Close()
}

// Full reports whether requests should wait until lines are written. A nil Log is never full.
func (a *Log) Full() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.mu.lines) >= backlog
}

// add appends the output of line to the unwritten lines. Any goroutine may call it; it does not block on the
// disk.
func (a *Log) add(line func([]byte) []byte) {
	a.mu.Lock()
	a.mu.lines = line(a.mu.lines)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// flush writes the unwritten lines.
func (a *Log) flush(stopping <-chan struct{}) {
	a.mu.Lock()
	lines := a.mu.lines
	a.mu.lines = nil
	a.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	var err error
	if a.name == "" {
		err = toStdout(lines, stopping)
	} else {
		err = a.write(lines)
	}
	if err != nil {
		a.log.Error("audit lines are lost", zap.String("file", a.name), zap.Int("bytes", len(lines)), zap.Error(err))
	}
}

// toStdout writes lines to standard output. While the reader behind it does not read, requests wait, but not the end
// of the server.
func toStdout(lines []byte, stopping <-chan struct{}) error {
	done := make(chan error, 1)
	go func() {
		_, err := os.Stdout.Write(lines)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-stopping:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastPatience):
		return errors.New("nobody reads standard output")
	}
}

// open opens the file to append to it.
func (a *Log) open() error {
	f, err := a.fs.OpenWrite(a.name)
	if errors.Is(err, os.ErrNotExist) {
		f, err = a.fs.Create(a.name)
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	last := []byte{'\n'}
	if err == nil && size > 0 {
		_, err = f.ReadAt(last, size-1)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	a.file, a.size, a.torn = f, size, last[0] != '\n' // as after a crash
	return nil
}

// Close closes the file. Run does that at its end, and others only if it has not begun.
func (a *Log) Close() {
	if a.file != nil {
		_ = a.file.Close()
		a.file = nil
	}
}

// write appends lines to the file, and begins a new file when this one has become large.
func (a *Log) write(lines []byte) error {
	if info, err := a.fs.Stat(a.name); err != nil || info.Size() != a.size {
		a.Close() // an operator has emptied, renamed or removed it
	}
	if a.file == nil {
		if err := a.open(); err != nil {
			return err
		}
	}
	if a.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := a.file.WriteAt(lines, a.size)
	if err != nil { // as of a full disk: the part of a line that it took must not stand before the next one
		err = errors.Join(err, a.file.Truncate(a.size+int64(bytes.LastIndexByte(lines[:n], '\n')+1)))
		a.Close()
		return err
	}
	a.torn = false
	if a.size += int64(n); a.size < fileBytes {
		return nil
	}
	for i := files - 1; i >= 1; i-- {
		_ = a.fs.Rename(a.backup(i), a.backup(i+1)) // most do not exist yet
	}
	if err := a.fs.Rename(a.name, a.backup(1)); err != nil { // no line is lost by it
		a.log.Error("cannot rename the full audit log: it keeps growing", zap.String("file", a.name), zap.Error(err))
		return nil
	}
	a.Close()
	return nil
}

func (a *Log) backup(i int) string { return a.name + "." + strconv.Itoa(i) }

// result is how a request ended.
type result string

const (
	success result = "success"
	failure result = "failure"
	invoked result = "invoked" // its outcome is not known
)

// Started adds the line that the server has started.
func (a *Log) Started() { a.event("serverStart", success) }

// event adds a line about the server itself.
func (a *Log) event(operation string, res result) {
	a.add(func(b []byte) []byte {
		b = append(a.begin(b, res), "user="...)
		b = appendValue(b, a.user)
		return endLine(append(append(b, "\toperation="...), operation...), res)
	})
}

// Answered adds the lines about a request, of an operation that is covered, which has been applied, or refused with
// err. origin is the first fields of a line, subject the result of Subject for the request, and reply the body of the
// reply.
func (a *Log) Answered(origin []byte, op proto.OpCode, subject []byte, err proto.ErrCode, reply []byte) {
	res := success
	if err != proto.OK {
		res = failure
	}
	a.add(func(b []byte) []byte {
		if op == proto.OpMulti {
			return a.appendMulti(b, origin, subject, res, reply)
		}
		return a.appendLine(b, origin, operations[op], subject, res, reply)
	})
}

// Lost adds a line about such a request whose outcome this server does not learn: it was forwarded, and the leader or
// the quorum was lost. It may have been applied. ZooKeeper writes nothing in this case.
func (a *Log) Lost(origin []byte, op proto.OpCode, subject []byte) {
	a.add(func(b []byte) []byte {
		if op == proto.OpMulti {
			subject = nil
		}
		return a.appendLine(b, origin, operations[op], subject, invoked, nil)
	})
}

// Ended adds the line of an ephemeral znode that ends with a session, even if the client is at another server.
// ZooKeeper, too, writes them on every server of an ensemble.
func (a *Log) Ended(id proto.SessionID, path string) {
	a.add(func(b []byte) []byte {
		b = appendSession(a.begin(b, success), id)
		b = appendValue(append(b, "\tuser="...), a.user)
		b = append(b, "\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode="...)
		return endLine(appendValue(b, path), success)
	})
}

// stamp is the form of the time of a line.
const stamp = "2006-01-02 15:04:05,000"

// begin appends the head of a line: the time, the level and the name of ZooKeeper's logger.
func (a *Log) begin(b []byte, res result) []byte {
	b = time.Now().AppendFormat(b, stamp)
	if res == failure {
		b = append(b, " ERROR"...)
	} else {
		b = append(b, " INFO"...)
	}
	return append(b, " audit.Slf4jAuditLogger: "...)
}

func endLine(b []byte, res result) []byte {
	b = append(append(b, "\tresult="...), res...)
	return append(b, '\n')
}

func appendSession(b []byte, id proto.SessionID) []byte {
	return strconv.AppendUint(append(b, "session=0x"...), uint64(id), 16)
}
