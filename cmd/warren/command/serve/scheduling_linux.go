package serve

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// scheduleAsBatch gives the policy SCHED_BATCH to every thread of this process that has Linux's usual scheduling
// policy. New threads inherit it. A thread that wakes up then waits until the running thread of that processor has
// done its piece of work. The share of the processor and the nice value stay the same. Threads on an idle processor
// wake up as fast as before. A policy that was set with chrt or in a systemd unit stays. Source: sched(7); adr 0011.
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
		// A thread that was started meanwhile, by a thread that was not changed yet, is found in the next round.
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
