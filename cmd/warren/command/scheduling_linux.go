package command

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// scheduleAsBatch gives every thread of this process that has Linux's usual scheduling policy the policy SCHED_BATCH, and those that
// they make inherit it. A thread that wakes up then waits until the processor's present thread has done its piece of work, and does
// not interrupt it. It changes neither the share of the processor nor the nice value, and threads on an idle processor wake up as
// fast as before. A policy that somebody chose with chrt or in a systemd unit stays. Source: sched(7); adr 0011.
func scheduleAsBatch() error {
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		changed := false
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			now, err := batchThread(id)
			if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
			changed = changed || now
		}
		// Whoever was made meanwhile by a thread that was not changed yet is met in the next round.
		if !changed {
			return nil
		}
	}
}

// batchThread changes one thread's policy and reports whether it had to.
func batchThread(id int) (changed bool, err error) {
	attr, err := unix.SchedGetAttr(id, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return false, err
	}
	attr.Policy = unix.SCHED_BATCH
	err = unix.SchedSetAttr(id, attr, 0)
	return err == nil, err
}
