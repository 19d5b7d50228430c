package ensemble

import (
	"runtime/metrics"
	"slices"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/internal/facts"
)

// checkEvery is how often a server reads its configuration and its backups again, for findings.
const checkEvery = 10 * time.Second

// certificate is one that this server shows.
type certificate struct {
	of      string // as a finding calls it
	expires func() time.Time
}

// Shows tells of a certificate that this server shows, for findings: of is a name for people, such as "the
// certificate of the admin port". It is called before Keep.
func (f *Facts) Shows(of string, expires func() time.Time) {
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.certificates = append(k.certificates, certificate{of, expires})
}

// Rechecks tells how the configuration is read again, as the next start reads it. It is called before Keep.
func (f *Facts) Rechecks(read func() error) { f.keeper.recheck = read }

// Started tells when processes of this server have begun since one of them was last stopped in an orderly way, this
// one included. It is called before Keep.
func (f *Facts) Started(starts []time.Time) { f.keeper.starts = starts }

// ofCertificates are the findings about the certificates that this server shows now. REQUIRES: keeper.mu.
func (f *Facts) ofCertificates(now time.Time) (all []findings.Finding) {
	shown := slices.Clone(f.keeper.certificates)
	if keys := f.front.Keys(); keys != nil {
		shown = append(shown, certificate{"the certificate of the client ports", keys.Expires})
	}
	if keys := f.host.Keys(); keys != nil {
		shown = append(shown, certificate{"the certificate for the other servers", keys.Expires})
	}
	for _, c := range shown {
		all = append(all, findings.Certificate(c.of, c.expires(), now)...)
	}
	return all
}

// lookAround finds what is wrong with the configuration and the backups, which are files of others, and with the
// memory, for self. It may wait for a disk.
func (f *Facts) lookAround() {
	k, now := &f.keeper, f.Runtime.Now()
	if !k.lookedAt.IsZero() && now.Sub(k.lookedAt) < checkEvery {
		return
	}
	k.lookedAt = now
	var all []findings.Finding
	if k.recheck != nil {
		all = append(all, findings.NextStart(k.recheck())...)
	}
	if folders := f.BackupFolders(); len(folders) > 0 {
		newest := time.Time{}
		for _, b := range folders {
			if b.Trouble == "" && b.Taken > newest.UnixMilli() {
				newest = time.UnixMilli(b.Taken)
			}
		}
		all = append(all, findings.Backups(newest, now)...)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		all = append(all, findings.Memory(int64(live[0].Value.Uint64()), facts.MemoryLimit())...)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.around = all
}

// forgetSnapshotErrors ends what is told of snapshots that could not be written, once one was: by this server itself,
// whose order of both is known, or with what a leader has sent. REQUIRES: keeper.mu.
func (f *Facts) forgetSnapshotErrors() {
	t := f.keeper.tallies["snapshot_error_count"]
	if t == nil || t.rose.IsZero() {
		return
	}
	if !f.Metrics.SnapshotsFail() || f.LastSnapshotAt().After(t.rose) {
		t.base, t.rose = t.last, time.Time{}
	}
}
