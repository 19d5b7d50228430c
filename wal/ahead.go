package wal

import (
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/wal/vfs"
)

// Zeros are written and synced in chunks of zeroChunk bytes, at the beginning of a file of zeroChunkMin. So an
// Append or fdatasync that comes in between waits for one chunk at most, and an idle server does not fill its
// disk with zeros.
const (
	zeroChunk    = 256 << 10
	zeroChunkMin = 64 << 10
	// zeroSyncMax is the largest mean number of bytes that a Sync makes durable for which zeros pay. Above it, to
	// write everything twice costs the disk more than the metadata of a growing file.
	zeroSyncMax = 256 << 10
)

// ahead writes zeros into files before records need the blocks. In the current file the zeros reach as far ahead
// of the records as the records reach from its beginning, at least zeroChunkMin and at most a quarter of
// PreallocSize. Once the current file is in use, the next file gets as many zeros as the current one has records,
// up to PreallocSize. So the zeros of a file are written as slowly as records come, and no request meets a burst
// of them.
//
// A file is extended, which means written beyond extent.written, by one goroutine at a time: the goroutine of
// ahead, or Append after it has acquired the file. Without preallocation there is no goroutine.
//
// If the disk is full or fails, ahead stops until something suggests that it may go on. It reports no error:
// Append does not need the zeros. But if its sync of the current file fails, records of that file may be lost,
// and the log is poisoned.
type ahead struct {
	l    *Log
	done chan struct{}

	mu struct {
		sync.Mutex
		changed sync.Cond
		current *extent
		next    *extent
		busy    *extent // being extended by the goroutine
		held    *extent // acquired by Append
		making  bool    // next is being created
		stuck   bool    // no work until retry
		perSync int64   // mean of the bytes that recent Syncs have made durable
		stopped bool
	}
}

func newAhead(l *Log) *ahead {
	a := &ahead{l: l}
	a.mu.changed.L = &a.mu
	return a
}

// start starts the goroutine, unless preallocation is off.
func (a *ahead) start() {
	if a.l.o.PreallocSize > 0 {
		a.done = make(chan struct{})
		go a.run()
	}
}

// run is the background goroutine.
func (a *ahead) run() {
	defer close(a.done)
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.mu.stopped {
		x := a.work()
		switch {
		case x != nil:
			a.mu.busy = x
			isCurrent := x == a.mu.current
			a.mu.Unlock()
			err := a.write(x, isCurrent)
			a.mu.Lock()
			a.mu.busy = nil
			a.settle(x, err)
		case a.wantsNext():
			a.mu.making = true
			a.mu.Unlock()
			next, err := newExtent(&a.l.o, tempNext)
			a.mu.Lock()
			a.mu.making = false
			a.mu.next = next
			a.settle(nil, err)
		default:
			a.mu.changed.Wait()
		}
	}
}

// work returns the extent that needs zeros, if any. Requires mu.
func (a *ahead) work() *extent {
	if a.mu.stuck || a.mu.perSync > zeroSyncMax {
		return nil
	}
	size := a.l.o.PreallocSize
	if x := a.mu.current; x != nil && x != a.mu.held && x.written.Load() < target(x.end.Load(), size) {
		return x
	}
	if x := a.mu.next; x != nil && a.mu.current != nil &&
		x.written.Load() < min(a.mu.current.end.Load(), headerSize+size) {
		return x
	}
	return nil
}

// target returns how far a file whose records end at end is to be written.
func target(end, preallocSize int64) int64 {
	return end + min(max(end, zeroChunkMin), max(preallocSize/4, zeroChunkMin))
}

// wantsNext reports whether the next file should be begun. Requires mu.
func (a *ahead) wantsNext() bool {
	x := a.mu.current
	return !a.mu.stuck && a.mu.next == nil && x != nil && x.end.Load() > a.l.o.PreallocSize/16+headerSize
}

// write extends x by a chunk of zeros, or to the next multiple of one, and syncs them.
func (a *ahead) write(x *extent, isCurrent bool) error {
	from := x.written.Load()
	chunk := int64(zeroChunk)
	if from < zeroChunk {
		chunk = min(zeroChunkMin, a.l.o.PreallocSize)
	}
	to := from - from%chunk + chunk
	if _, err := x.spare.WriteAt(zeros[:to-from], from); err != nil {
		return fmt.Errorf("wal: prepare %s: %w", x.path, err)
	}
	if err := x.spare.Sync(); err != nil {
		err = fmt.Errorf("wal: prepare %s: %w", x.path, err)
		if isCurrent {
			return a.l.poison(err)
		}
		return err
	}
	x.written.Store(to)
	return nil
}

// settle wakes the goroutines that wait, and stops the work after an error. Requires mu.
func (a *ahead) settle(x *extent, err error) {
	if err != nil {
		a.mu.stuck = true
		if !errors.Is(err, vfs.ErrNoSpace) {
			a.l.o.Logger.Warn("cannot prepare a transaction log in advance: it is created when it is needed",
				zap.Error(err))
		}
		if x != nil && x == a.mu.next { // it may hold anything: records must never follow
			a.mu.next = nil
			x.discard(&a.l.o)
		}
	}
	a.mu.changed.Broadcast()
}

// advanced tells that records were appended to the current extent.
func (a *ahead) advanced(x *extent) {
	size := a.l.o.PreallocSize
	if size == 0 {
		return
	}
	end := x.end.Load()
	if x.written.Load() >= target(end, size) && end <= size/16+headerSize {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.work() != nil || a.wantsNext() {
		a.mu.changed.Broadcast()
	}
}

// synced tells how many bytes a Sync has made durable.
func (a *ahead) synced(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.mu.perSync
	if a.mu.perSync += (bytes - was) / 8; was > zeroSyncMax && a.mu.perSync <= zeroSyncMax {
		a.mu.changed.Broadcast()
	}
}

// acquire waits until the goroutine does not extend x, a chunk at most, and keeps it from doing so
// until release.
func (a *ahead) acquire(x *extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.mu.busy == x {
		a.mu.changed.Wait()
	}
	a.mu.held = x
}

// release ends acquire.
func (a *ahead) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.held = nil
	a.mu.stuck = false
	a.mu.changed.Broadcast()
}

// enter makes x the current file.
func (a *ahead) enter(x *extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.current = x
	a.mu.changed.Broadcast()
}

// leave takes the current file away from the goroutine.
func (a *ahead) leave(x *extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.mu.busy == x {
		a.mu.changed.Wait()
	}
	a.mu.current = nil
}

// take returns the next file as far as it is prepared, or nil.
func (a *ahead) take() *extent {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.mu.making || a.mu.next != nil && a.mu.busy == a.mu.next {
		a.mu.changed.Wait()
	}
	x := a.mu.next
	a.mu.next = nil
	a.mu.stuck = false
	return x
}

// giveBack returns a file that could not be used now.
func (a *ahead) giveBack(x *extent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.next = x
}

// retry lets the goroutine try again after the disk was full.
func (a *ahead) retry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.stuck = false
	a.mu.changed.Broadcast()
}

// stop ends the goroutine and removes the file that it prepared.
func (a *ahead) stop() {
	a.mu.Lock()
	a.mu.stopped = true
	a.mu.changed.Broadcast()
	a.mu.Unlock()
	if a.done != nil {
		<-a.done
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.mu.next; x != nil {
		a.mu.next = nil
		x.discard(&a.l.o)
	}
}
