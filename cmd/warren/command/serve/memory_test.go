package serve

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCgroupMemory(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		name  string
		files map[string]string
		want  int64 // 0 is no limit
	}{
		{"no cgroups", nil, 0},
		{"version 2, no limit",
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"version 2, container",
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, gib},
		{"version 2, high below max", map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "2147483648\n",
			"sys/fs/cgroup/a/memory.high": "1073741824\n"}, gib},
		{"version 2, a group around it is smaller", map[string]string{
			"proc/self/cgroup": "0::/a/b/c\n", "sys/fs/cgroup/a/memory.max": "1073741824\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/c/memory.max": "4294967296\n"}, gib},
		{"version 2, host path in a container", map[string]string{
			"proc/self/cgroup": "0::/kubepods/pod1/x\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, gib},
		{"version 1", map[string]string{
			"proc/self/cgroup": "12:pids:/x\n4:cpu,memory:/docker/y\n",
			"sys/fs/cgroup/memory/docker/y/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n"}, gib},
		{"version 1, no limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"},
			0},
		{"version 1 beside an empty version 2", map[string]string{
			"proc/self/cgroup": "4:memory:/\n0::/z\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"},
			gib},
		{"another controller only", map[string]string{
			"proc/self/cgroup": "4:memorial:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, 0},
		{"nonsense", map[string]string{
			"proc/self/cgroup": "x\n\n0::\n", "sys/fs/cgroup/memory.max": "lots\n",
			"sys/fs/cgroup/memory.high": "-5\n"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			limit, ok := cgroupMemory(root)
			require.Equal(t, tt.want != 0, ok)
			if ok {
				require.Equal(t, tt.want, limit)
			}
		})
	}
}
