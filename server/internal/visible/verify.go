package visible

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Verification is a check of the files of a backup against its manifest.
type Verification struct {
	Folder  string `json:"folder" doc:"of the backup"`
	Running bool   `json:"running" doc:"it goes on: ask again"`
	Read    int64  `json:"read" doc:"bytes so far"`
	Bytes   int64  `json:"bytes" doc:"of all files; 0 before that is known"`
	Ended   int64  `json:"ended" doc:"ms since 1970; 0 while it goes on, and if there was none"`
	Trouble string `json:"trouble" doc:"what is wrong; empty if nothing was found so far"`
}

// verifyRest follows each MiB that is read, so that the disk is there for clients.
const verifyRest = 10 * time.Millisecond

// verifications are the newest check of a backup. One goes on at a time.
type verifications struct {
	mu   sync.Mutex
	last Verification
}

// errNoFolder means that the folder is not one that the server may read for visitors.
var errNoFolder = refusal(http.StatusNotFound, "warren.console.backups names no such folder")

// errVerifying means that another backup is being checked.
var errVerifying = refusal(http.StatusConflict, "another backup is being checked: wait until that has ended")

// VerifyBackup tells how far a check of a backup is, or how it has ended. With begin, it begins one unless one is
// under way.
func (n *Shown) VerifyBackup(a Actor, folder string, begin bool) (*Verification, error) {
	if err := n.MaySeeAll(a); err != nil {
		return nil, err
	}
	if !slices.Contains(n.Config.Admin.ConsoleBackups, folder) {
		return nil, errNoFolder
	}
	c := &n.verified
	c.mu.Lock()
	defer c.mu.Unlock()
	last := &c.last
	switch {
	case last.Running && last.Folder == folder:
	case last.Running && begin:
		return nil, errVerifying
	case begin:
		*last = Verification{Folder: folder, Running: true}
		if !n.Spawn("verification", func() { n.verify(folder) }) {
			*last = Verification{}
			return nil, ErrNotServing
		}
	case last.Folder != folder:
		return &Verification{Folder: folder}, nil
	}
	told := *last
	return &told, nil
}

func (n *Shown) verify(folder string) {
	c := &n.verified
	err := n.Facts.VerifyBackup(folder, func(read, all int64) bool {
		c.mu.Lock()
		c.last.Read, c.last.Bytes = read, all
		c.mu.Unlock()
		return !n.Stopping.WaitFor(verifyRest)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Running, c.last.Ended = false, n.Runtime.Now().UnixMilli()
	if err != nil {
		c.last.Trouble = err.Error()
	}
}
