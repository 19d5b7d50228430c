package serve

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// outlet writes lines to standard output or standard error, behind which may be anything: a pipe whose reader has
// ended or does not read any more, a file on a full disk. A server logs while it holds locks that its clients need. So
// a line that cannot be written is lost and counted, and the server goes on.
//
// The goroutine that writes exists while there are lines. Write waits for it: normally a line is out before anything
// else happens, such as a panic. It waits for patience at most, and not at all while an earlier line is stuck.
//
// Any goroutine may call the methods. The lock is never held while something is written.
type outlet struct {
	to io.Writer
	// lostLine returns the line that tells how many lines were lost. It may be nil. Set before the first Write.
	lostLine func(lost int) []byte

	mu      sync.Mutex
	lines   []byte        // not taken by the goroutine yet
	last    chan struct{} // closed when the newest of the lines is written or lost; nil before the first one
	writing bool          // the goroutine runs
	stuck   bool          // patience has ended for what the goroutine writes now. stuck => writing
	lost    int           // lines
	untold  int           // those of lost that lostLine has not told. untold <= lost
}

const (
	// backlog is how many bytes of lines wait for a reader that does not read. A single write may be longer.
	backlog = 1 << 20
	// patience is how long a line waits for a reader that does not read.
	patience = 100 * time.Millisecond
	// lastPatience is how long the end of the process waits for it.
	lastPatience = time.Second
)

// Write takes whole lines. It never fails.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	if len(o.lines) > 0 && len(o.lines)+len(p) > backlog {
		o.lose(p)
		o.mu.Unlock()
		return len(p), nil
	}
	if len(o.lines) == 0 {
		o.last = make(chan struct{})
	}
	o.lines = append(o.lines, p...)
	written, stuck := o.last, o.stuck
	if !o.writing {
		o.writing = true
		go o.write()
	}
	o.mu.Unlock()
	if !stuck && !closedWithin(written, patience) {
		o.mu.Lock()
		o.stuck = o.writing
		o.mu.Unlock()
	}
	return len(p), nil
}

// write is the goroutine.
func (o *outlet) write() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) > 0 {
		lines, written, untold := o.lines, o.last, o.untold
		o.lines = nil
		o.mu.Unlock()
		told := false
		if untold > 0 && o.lostLine != nil {
			_, err := o.to.Write(o.lostLine(untold))
			told = err == nil
		}
		n, err := o.to.Write(lines)
		o.mu.Lock()
		if told {
			o.untold -= untold
		}
		if err != nil {
			o.lose(lines[n:])
		}
		o.stuck = false
		close(written)
	}
	o.writing = false
}

// lose counts lines. REQUIRES: mu.
func (o *outlet) lose(lines []byte) {
	n := bytes.Count(lines, []byte{'\n'})
	o.lost += n
	o.untold += n
}

// Lost returns how many lines were lost.
func (o *outlet) Lost() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// Sync implements zapcore.WriteSyncer: it waits until the lines are written or lost, or for lastPatience.
func (o *outlet) Sync() error {
	o.mu.Lock()
	last := o.last
	o.mu.Unlock()
	if last != nil {
		closedWithin(last, lastPatience)
	}
	return nil
}

// closedWithin waits for c to be closed, and reports whether it was within the limit.
func closedWithin(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
