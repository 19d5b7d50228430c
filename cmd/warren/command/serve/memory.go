package serve

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// memoryPercent is the share of the container's memory that Go may use; the rest is for mapped files, stacks of the
// kernel and the other processes of the container.
const memoryPercent = 90

// limitMemory makes Go collect garbage before the container's limit kills the process, unless GOMEMLIMIT says
// something else.
func limitMemory(log *zap.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit, ok := cgroupMemory(os.DirFS("/"))
	if !ok {
		return
	}
	goLimit := limit / 100 * memoryPercent
	debug.SetMemoryLimit(goLimit)
	log.Info("memory limit of the container", zap.Int64("bytes", limit), zap.Int64("go_bytes", goLimit))
}

// cgroupMemory returns the memory limit of this process's control group in bytes: the smallest of the group and all
// groups around it. root is the file system at "/". It knows versions 1 and 2; ok is false if there is no limit.
func cgroupMemory(root fs.FS) (limit int64, ok bool) {
	membership, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	limit = math.MaxInt64
	for line := range strings.Lines(string(membership)) {
		// hierarchy:controllers:path, where version 2 has hierarchy 0 and no controllers.
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, found := strings.Cut(rest, ":")
		switch {
		case !found:
		case id == "0" && controllers == "":
			limit = min(limit, smallestLimit(root, "sys/fs/cgroup", group, "memory.max", "memory.high"))
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			limit = min(limit, smallestLimit(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	return limit, limit < unlimited
}

// unlimited is far above any machine's memory; version 1 writes about 2^63 for no limit.
const unlimited = 1 << 60

// smallestLimit reads the given files in group and every group above it. Inside of a container, the mounted tree may
// begin at the container's own group although the path is that of the host; then only the top exists, which is the
// one that counts.
func smallestLimit(root fs.FS, mount, group string, names ...string) int64 {
	limit := int64(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		for _, name := range names {
			text, err := fs.ReadFile(root, path.Join(mount, dir, name))
			if err != nil {
				continue
			}
			// "max" is no limit
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
		if dir == "/" {
			return limit
		}
	}
}
