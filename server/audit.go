package server

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/keystore"
	"github.com/seed94657493/warren/wal/vfs"
)

// audit is the audit log: a line for each write of a client of this server, and for each ephemeral znode that ends with its session,
// in the form of ZooKeeper's. Source: operations section 7.1.
//
// What a line says of the request is noted when the request is read (auditSubject), and kept in the connection's queue
// beside it; the applier adds the outcome. Lines are gathered in memory under audit.mu, and a goroutine of its own
// writes them. When auditBacklog bytes wait for a slow disk, no further request is taken from any socket.
type audit struct {
	log  *zap.Logger
	fs   vfs.FS
	name string // "" is standard output
	user string // of this process

	file vfs.File // owned by the goroutine
	size int64    // of file

	mu struct {
		sync.Mutex
		lines []byte
	}
	wake chan struct{} // holds a token when there are lines
}

const (
	// auditBacklog is how many bytes of lines may wait before requests do.
	auditBacklog = 8 << 20
	// auditFileBytes is the size at which a file is renamed to .1, and so on, and another begun.
	auditFileBytes = 10 << 20
	// auditFiles is how many renamed files are kept.
	auditFiles = 10
)

// openAudit opens the audit log, if it is wanted. A relative name is one in the folder of the logs, ZOO_LOG_DIR.
func (s *Server) openAudit() error {
	if !s.cfg.Audit.Enabled {
		return nil
	}
	a := &audit{log: s.log, fs: s.fs, user: processUser(), wake: make(chan struct{}, 1)}
	if s.cfg.Audit.File != "-" {
		a.name = s.cfg.Audit.File
		if dir := os.Getenv("ZOO_LOG_DIR"); dir != "" && !filepath.IsAbs(a.name) {
			a.name = filepath.Join(dir, a.name)
		}
		if err := a.open(); err != nil {
			return err
		}
	}
	s.security.audit = a
	return nil
}

// processUser is the name of the user that this process runs as.
func processUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// startSecurity starts what watches the certificates and writes the audit log. It is the last step of Start.
func (s *Server) startSecurity() {
	if k := s.security.keys; k != nil && s.cfg.ClientCertReload {
		s.start("keys", func() { k.Watch(keystore.ReloadInterval, s.stopping) })
	}
	if k := s.quorum.keys; k != nil && s.cfg.SSLQuorumReloadCertFiles {
		s.start("quorum keys", func() { k.Watch(keystore.ReloadInterval, s.stopping) })
	}
	if a := s.security.audit; a != nil {
		a.event("serverStart", auditSuccess)
		s.start("audit", func() { a.run(s.stopping, s.applied) })
	}
}

// run writes lines until the server stops and the applier has ended.
func (a *audit) run(stopping, applied <-chan struct{}) {
	for {
		select {
		case <-a.wake:
			a.flush()
			continue
		case <-stopping:
		}
		a.event("serverStop", auditInvoked)
		stopping = nil
		select {
		case <-a.wake:
			a.flush()
			<-applied
		case <-applied:
		}
		a.flush()
		if a.file != nil {
			_ = a.file.Close()
		}
		return
	}
}

// full reports whether requests should wait until lines are written.
func (a *audit) full() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.mu.lines) >= auditBacklog
}

// add appends what line appends to the lines that wait. Any goroutine may call it; it does not block on the disk.
func (a *audit) add(line func([]byte) []byte) {
	a.mu.Lock()
	a.mu.lines = line(a.mu.lines)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// flush writes what waits.
func (a *audit) flush() {
	a.mu.Lock()
	lines := a.mu.lines
	a.mu.lines = nil
	a.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	var err error
	if a.name == "" {
		_, err = os.Stdout.Write(lines)
	} else {
		err = a.write(lines)
	}
	if err != nil {
		a.log.Error("audit lines are lost", zap.String("file", a.name), zap.Int("bytes", len(lines)), zap.Error(err))
	}
}

// open opens the file and goes on at its end.
func (a *audit) open() error {
	f, err := a.fs.OpenWrite(a.name)
	if errors.Is(err, os.ErrNotExist) {
		f, err = a.fs.Create(a.name)
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close()
		return err
	}
	a.file, a.size = f, size
	return nil
}

// write appends lines to the file, and begins another when it has become large.
func (a *audit) write(lines []byte) error {
	if a.file == nil {
		if err := a.open(); err != nil {
			return err
		}
	}
	n, err := a.file.WriteAt(lines, a.size)
	a.size += int64(n)
	if err != nil || a.size < auditFileBytes {
		return err
	}
	_ = a.file.Close()
	a.file = nil
	for i := auditFiles - 1; i >= 1; i-- {
		_ = a.fs.Rename(a.backup(i), a.backup(i+1)) // most do not exist yet
	}
	return a.fs.Rename(a.name, a.backup(1))
}

func (a *audit) backup(i int) string { return a.name + "." + strconv.Itoa(i) }

// auditResult is how a request ended.
type auditResult string

const (
	auditSuccess auditResult = "success"
	auditFailure auditResult = "failure"
	auditInvoked auditResult = "invoked" // its outcome is not known
)

// event adds a line about the server itself.
func (a *audit) event(operation string, result auditResult) {
	a.add(func(b []byte) []byte {
		b = append(a.begin(b, result), "user="...)
		b = appendAudited(b, a.user)
		return endAudit(append(append(b, "\toperation="...), operation...), result)
	})
}

// answered adds the lines about a request of c that has been applied, or refused with err; subject is what auditSubject
// has kept of it and reply the body of the reply. REQUIRES: c.mu.
func (a *audit) answered(c *conn, op proto.OpCode, subject []byte, err proto.ErrCode, reply []byte) {
	operation := auditOperation(op)
	if operation == "" {
		return
	}
	who := c.auditWho()
	result := auditSuccess
	if err != proto.OK {
		result = auditFailure
	}
	a.add(func(b []byte) []byte {
		if op == proto.OpMulti {
			return a.appendMulti(b, who, subject, result, reply)
		}
		return a.appendLine(b, who, operation, subject, result, reply)
	})
}

// lost adds a line about a request of c whose outcome this server does not learn: it was passed on, and the leader or the quorum was
// lost. It may have been applied. ZooKeeper says nothing then. REQUIRES: c.mu.
func (a *audit) lost(c *conn, op proto.OpCode, subject []byte) {
	operation := auditOperation(op)
	if operation == "" {
		return
	}
	who := c.auditWho()
	a.add(func(b []byte) []byte {
		if op == proto.OpMulti {
			subject = nil
		}
		return a.appendLine(b, who, operation, subject, auditInvoked, nil)
	})
}

// ended adds a line for each ephemeral znode that ends with a session, whichever server the session is at: in ZooKeeper, too, every
// server of an ensemble writes them. REQUIRES: store.mu.
func (a *audit) ended(st *store, id proto.SessionID) {
	for _, path := range st.ephemeralsOf(id) {
		a.add(func(b []byte) []byte {
			b = appendSession(a.begin(b, auditSuccess), id)
			b = appendAudited(append(b, "\tuser="...), a.user)
			b = append(b, "\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode="...)
			return endAudit(appendAudited(b, path), auditSuccess)
		})
	}
}

// begin appends the head of a line: the time, the level and the name of ZooKeeper's logger.
func (a *audit) begin(b []byte, result auditResult) []byte {
	b = time.Now().AppendFormat(b, "2006-01-02 15:04:05,000")
	if result == auditFailure {
		b = append(b, " ERROR"...)
	} else {
		b = append(b, " INFO"...)
	}
	return append(b, " audit.Slf4jAuditLogger: "...)
}

func endAudit(b []byte, result auditResult) []byte {
	b = append(append(b, "\tresult="...), result...)
	return append(b, '\n')
}

func appendSession(b []byte, id proto.SessionID) []byte {
	return strconv.AppendUint(append(b, "session=0x"...), uint64(id), 16)
}
