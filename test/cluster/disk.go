package cluster

import (
	"os"
	"os/exec"
	"testing"

	"github.com/seed94657493/warren/test/must"
)

// Disk mounts a file system of its own in memory, which holds size, such as 160m, and returns where; empty if this
// process may not. Nothing is used before it is written. The data of a failed test is copied from it before it goes.
func Disk(t testing.TB, size string) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return ""
	}
	dir = must.Do(os.MkdirTemp("", "warren-disk-"))(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", dir).CombinedOutput(); err != nil {
		t.Logf("no disks of a given size: %v: %s", err, out)
		_ = os.Remove(dir)
		return ""
	}
	t.Cleanup(func() {
		if t.Failed() {
			kept := dir + "-kept"
			t.Logf("the data in %s is copied to %s: %v", dir, kept, exec.Command("cp", "-a", dir, kept).Run())
		}
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		_ = os.Remove(dir)
	})
	return dir
}
