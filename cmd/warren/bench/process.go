package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// clockTicks is the unit of CPU times in /proc; it is 100 on every Linux that Go runs on.
const clockTicks = 100

// processUsage is what processes have used so far.
type processUsage struct {
	cpu time.Duration // user and system, all threads
	rss int64         // bytes resident now
}

// readProcesses adds up the processes of the servers. proc is "/proc".
func readProcesses(proc string, pids []int) (processUsage, error) {
	var sum processUsage
	for _, pid := range pids {
		u, err := readProcess(filepath.Join(proc, strconv.Itoa(pid)))
		if err != nil {
			return sum, fmt.Errorf("bench: process %d: %w", pid, err)
		}
		sum.cpu += u.cpu
		sum.rss += u.rss
	}
	return sum, nil
}

// readProcess reads stat and status of one folder of /proc.
func readProcess(dir string) (processUsage, error) {
	var u processUsage
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, err
	}
	// The name in parentheses may hold blanks and parentheses; fields 14 and 15 are 12th and 13th behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return u, fmt.Errorf("stat has %d fields", len(fields))
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return u, fmt.Errorf("stat: %w", err)
		}
		ticks += n
	}
	u.cpu = time.Duration(ticks) * time.Second / clockTicks
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return u, err
	}
	for line := range bytes.Lines(status) {
		if kb, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(kb), []byte("kB")))),
				10, 64)
			if err != nil {
				return u, fmt.Errorf("status: %w", err)
			}
			u.rss = n << 10
		}
	}
	return u, nil
}
