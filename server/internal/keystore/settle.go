package keystore

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal/vfs"
)

const (
	// settleTime is how long nothing must have changed until a store counts as written.
	settleTime = 5 * time.Second
	// settleMax bounds how long Settle waits, even if something goes on changing.
	settleMax = 30 * time.Second
	// settlePoll is how often Settle looks.
	settlePoll = 200 * time.Millisecond
)

// Settle waits while Open would fail because the stores of cfg are being replaced: a store cannot be loaded, and one
// of the files, or a folder with one of them, has changed in the last seconds. It returns when Open would succeed,
// when nothing changes any more, or when ctx ends. So a server that starts during a replacement does what a running
// one does, which keeps the former files until it can load the new ones.
func Settle(ctx context.Context, fsys vfs.FS, cfg *config.TLS, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	k := &Keys{fs: fsys, cfg: cfg}
	for said := false; ; said = true {
		_, err := Open(fsys, cfg, nil)
		var store *storeError
		if !errors.As(err, &store) || store.File == "" || time.Since(k.lastChange()).Abs() > settleTime {
			return
		}
		if !said {
			log.Warn("certificates or keys cannot be loaded, but they have just changed: waiting until they are whole",
				zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lastChange returns when a file of the stores, or a folder with one of them, was last changed. Files are removed and
// renamed in their folders.
func (k *Keys) lastChange() (last time.Time) {
	for _, name := range k.files() {
		for _, at := range []string{name, filepath.Dir(name)} {
			if info, err := k.fs.Stat(at); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	return last
}
