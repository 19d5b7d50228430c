package keystore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// ReloadInterval is how often Watch looks at the files.
const ReloadInterval = 5 * time.Second

// Watch looks at the files every interval and loads them when one has changed, until stop is closed. Existing
// connections do not change. If the files cannot be loaded the old ones stay in use, with one line in the log,
// and Watch tries again.
func (k *Keys) Watch(interval time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			k.poll()
		}
	}
}

// poll loads the files if one of them has changed since they were loaded.
func (k *Keys) poll() {
	k.reload.Lock()
	defer k.reload.Unlock()
	stamps := k.stamps()
	if stamps == k.reload.stamps {
		return
	}
	if err := k.take(stamps); err != nil {
		if k.reload.refused != err.Error() {
			k.reload.refused = err.Error()
			k.log.Error("changed certificates or keys cannot be loaded: the old ones stay in use", zap.Error(err))
		}
		return
	}
	// The stamps are older than the contents: a change in between is seen by the next poll.
	k.log.Info("certificates and keys were reloaded", zap.Time("expires", k.Expires()))
}

// Reload loads the files now, changed or not. On an error the old ones stay in use.
func (k *Keys) Reload() error {
	k.reload.Lock()
	defer k.reload.Unlock()
	return k.take(k.stamps())
}

// take loads the files, which have these stamps. REQUIRES: k.reload.
func (k *Keys) take(stamps string) error {
	m, err := k.load()
	if err != nil {
		return err
	}
	k.reload.stamps, k.reload.refused = stamps, ""
	k.current.Store(m)
	return nil
}

// stamps returns time and size of all files, which show whether a file is still the one that was read. A link
// with a new target, as Kubernetes makes it, shows too, since the target is examined.
func (k *Keys) stamps() string {
	var b strings.Builder
	for _, name := range k.files() {
		info, err := k.fs.Stat(name)
		if err != nil {
			b.WriteString("missing;")
			continue
		}
		fmt.Fprintf(&b, "%d %d;", info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}

// files returns the names of all files.
func (k *Keys) files() []string {
	names := append(forIdentity.files(&k.cfg.KeyStore), forTrust.files(&k.cfg.TrustStore)...)
	names = append(names, k.cfg.KeyStore.PasswordPath, k.cfg.TrustStore.PasswordPath)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
