package measured

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// machine says what it is.
func machine() string {
	model := firstMatch("/proc/cpuinfo", `(?m)^model name\s*: (.*)$`)
	kib, _ := strconv.ParseFloat(firstMatch("/proc/meminfo", `(?m)^MemTotal:\s*(\d+) kB$`), 64)
	kernel, _, _ := strings.Cut(strings.TrimSpace(read("/proc/sys/kernel/osrelease")), "-")
	return fmt.Sprintf("%d cores (%s), %.0f GiB of memory, Linux %s, %s", runtime.NumCPU(), model, kib/(1<<20), kernel,
		strings.Replace(runtime.Version(), "go", "Go ", 1))
}

// disk says on what the servers keep their data, and how long it takes to sync the record of a write.
func disk(t testing.TB) string {
	dir := t.TempDir()
	out := must.Do(exec.Command("df", "--output=fstype,source", dir).Output())(t)
	fields := strings.Fields(strings.SplitN(string(out), "\n", 2)[1])
	f := must.Do(os.Create(filepath.Join(dir, "syncs")))(t)
	defer f.Close()
	var took []time.Duration
	for range 200 {
		from := time.Now()
		must.Do(f.Write(make([]byte, 300)))(t)
		require.NoError(t, f.Sync())
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	return fmt.Sprintf("%s on %s, where a sync of 300 bytes takes %.2f ms", fields[0], fields[1],
		float64(took[len(took)/2].Microseconds())/1000)
}

// commit is the one that is checked out, and whether anything has changed since, apart from the pages that a record
// writes: the first part of a run changes them.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(head))
	changed := exec.Command("git", "diff", "--quiet", "HEAD", "--",
		":/", ":(top,exclude)docs", ":(top,exclude)README.md")
	if changed.Run() != nil {
		commit += "-dirty"
	}
	return commit
}

func loadAverage() string {
	one, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	return one
}

func zooKeeperVersion() string {
	out, _ := exec.Command("java", "-cp", "/usr/share/java/zookeeper.jar",
		"org.apache.zookeeper.version.VersionInfoMain").CombinedOutput()
	m := regexp.MustCompile(`version ([\d.]+)`).FindSubmatch(out)
	if m == nil {
		return "unknown"
	}
	return string(m[1])
}

func javaVersion() string {
	out, _ := exec.Command("java", "-version").CombinedOutput()
	m := regexp.MustCompile(`version "([^"]+)"`).FindSubmatch(out)
	if m == nil {
		return "Java"
	}
	return "OpenJDK " + string(m[1])
}

// cpuTicks is the CPU time of the machine since it began.
type cpuTicks struct{ all, steal float64 }

func readTicks() (c cpuTicks) {
	line, _, _ := strings.Cut(read("/proc/stat"), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 8 { // guest time is part of user time
			continue
		}
		c.all += n
		if i == 8 {
			c.steal = n
		}
	}
	return c
}

// stolen is the share of the time from c to now that other virtual machines had, in percent.
func (c cpuTicks) stolen(now cpuTicks) float64 {
	if now.all == c.all {
		return 0
	}
	return 100 * (now.steal - c.steal) / (now.all - c.all)
}

func firstMatch(file, expression string) string {
	m := regexp.MustCompile(expression).FindStringSubmatch(read(file))
	if m == nil {
		return "unknown"
	}
	return m[1]
}

// read returns a file, or nothing if there is none: a description then says less.
func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}
