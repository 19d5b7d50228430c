package doctor

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// place looks at the disks.
func (c *directoryCheck) place() {
	for _, dir := range slices.Compact([]string{c.DataDir, c.LogDir}) {
		if _, err := c.FS.Stat(dir); err != nil {
			continue
		}
		c.space(dir)
		c.kind(dir)
	}
	if c.Measure {
		c.speed(c.LogDir)
	}
}

// space looks at the room that is left.
func (c *directoryCheck) space(dir string) {
	free, total, err := c.FS.Free(dir)
	if err != nil || total <= 0 {
		return
	}
	percent := float64(free) / float64(total) * 100
	const remedy = "free space, or let old snapshots be purged; the server refuses writes before the disk is full"
	switch {
	case free < 256<<20:
		c.add(Error, "disk-full", dir, remedy, "only %d MiB are free", free>>20)
	case percent < 10:
		c.add(Warning, "disk-full", dir, remedy, "only %.1f %% are free, %d MiB", percent, free>>20)
	}
}

// networkKinds are file systems that are somewhere else.
var networkKinds = []string{"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "ceph", "glusterfs", "fuse.sshfs",
	"9p", "afs", "lustre"}

// kind looks at the file system.
func (c *directoryCheck) kind(dir string) {
	if c.Mount == nil {
		return
	}
	kind, err := c.Mount(dir)
	switch {
	case err != nil:
		c.add(Notice, "file-system", dir, "", "its kind is not known: %v", err)
	case kind == "tmpfs" || kind == "ramfs":
		c.add(Error, "file-system", dir, "choose a directory on a disk",
			"is on %s: everything is lost when the machine stops", kind)
	case slices.Contains(networkKinds, kind) || strings.HasPrefix(kind, "nfs"):
		c.add(Warning, "file-system", dir, "choose a directory on a local disk",
			"is on %s: a slow network stops the server, and locks may not hold", kind)
	case kind == "overlay":
		c.add(Warning, "file-system", dir, "mount a volume there",
			"is on the container's own file system: it is lost with the container")
	}
}

// The times of one sync that are worth a word.
const (
	syncWarn  = 10 * time.Millisecond
	syncError = 100 * time.Millisecond
	syncs     = 20
)

// speed writes a few blocks and measures the time until they are durable.
func (c *directoryCheck) speed(dir string) {
	if _, err := c.FS.Stat(dir); err != nil {
		return
	}
	name := filepath.Join(dir, ".warren.doctor")
	took, err := c.measure(name)
	if err != nil {
		c.add(Notice, "fsync", dir, "run it as the user of the server", "cannot be measured: %v", err)
		return
	}
	slices.Sort(took)
	median := took[len(took)/2]
	const remedy = "give the log (dataLogDir) a disk of its own, with a write cache that survives power loss; " +
		"every write waits for it"
	switch {
	case median >= syncError:
		c.add(Error, "fsync", dir, remedy, "one sync takes %v (median of %d, at most %v)", median, len(took),
			took[len(took)-1])
	case median >= syncWarn:
		c.add(Warning, "fsync", dir, remedy, "one sync takes %v (median of %d, at most %v)", median, len(took),
			took[len(took)-1])
	}
}

func (c *directoryCheck) measure(name string) (took []time.Duration, err error) {
	f, err := c.FS.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), c.FS.Remove(name)) }()
	block := make([]byte, 4096)
	for i := range syncs {
		if _, err := f.WriteAt(block, int64(i)*int64(len(block))); err != nil {
			return nil, err
		}
		began := c.Now()
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, c.Now().Sub(began))
	}
	return took, nil
}
