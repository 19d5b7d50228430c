package backup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Retention says which snapshots, with the txns after them, stay in a backup: those that any of its rules keeps. The
// newest one always stays.
type Retention struct {
	// Count keeps the newest ones; 0 keeps none for its number.
	Count int
	// Age keeps all that are needed to restore any moment since then; 0 keeps none for its age.
	Age time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Pruned is what Prune has removed, and what it has seen.
type Pruned struct {
	Removed []Entry
	// Strays are files of the form of a backup that the manifest does not name: a run that failed has left them, or
	// they belong to a manifest that was lost.
	Strays []Stored
}

// errNothingGood means that nothing of what would stay can be restored, so that nothing was removed.
var errNothingGood = errors.New("backup: nothing is removed, because nothing of what would stay can be restored")

// Prune removes the snapshots and txns that no rule keeps. It first rebuilds the tree from the newest snapshot that
// stays and that is good, and removes nothing if there is none; of encrypted files without a key it compares
// checksums only. The manifest is replaced before files are removed, so an interruption leaves strays and no gap.
func (b *Backup) Prune(r Retention) (Pruned, error) {
	done, err := b.begin()
	if err != nil {
		return Pruned{}, err
	}
	defer done.Close()
	stay, removed := b.divide(r)
	if len(removed) > 0 {
		all := b.Manifest.Entries
		b.Manifest.Entries = stay
		err := b.hasGood()
		if err != nil {
			err = fmt.Errorf("%w: %w", errNothingGood, err)
		} else if err = b.save(); err != nil {
			err = fmt.Errorf("backup: %w", err)
		}
		if err != nil {
			b.Manifest.Entries = all
			return Pruned{}, err
		}
		if err := b.store.remove(b.names(removed)); err != nil {
			return Pruned{}, fmt.Errorf("backup: what the manifest no longer names: %w", err)
		}
	}
	strays, err := b.strays()
	return Pruned{Removed: removed, Strays: strays}, err
}

func (b *Backup) divide(r Retention) (stay, removed []Entry) {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	snapshots := slices.SortedStableFunc(b.Manifest.of(KindSnapshot), // the newest first
		func(x, y *Entry) int { return cmp.Compare(y.Last, x.Last) })
	kept := 0
	for kept < len(snapshots) {
		// The moments that a snapshot is needed for end when the next one was taken.
		young := kept > 0 && r.Age > 0 && now().Sub(snapshots[kept-1].Taken) < r.Age
		if kept > 0 && kept >= r.Count && !young {
			break
		}
		kept++
	}
	if kept == len(snapshots) {
		return b.Manifest.Entries, nil // with logs that no snapshot leads to
	}
	oldest := snapshots[kept-1]
	for _, e := range b.Manifest.Entries {
		if e.Kind == KindSnapshot && e.Last < oldest.Last || e.Kind == KindLog && e.Last <= oldest.Last {
			removed = append(removed, e)
		} else {
			stay = append(stay, e)
		}
	}
	return stay, removed
}

// hasGood returns nil if a moment of the backup can be restored.
func (b *Backup) hasGood() error {
	var failed error
	for _, e := range slices.Backward(slices.Collect(b.Manifest.of(KindSnapshot))) {
		err := b.checkFile(e)
		if err == nil {
			_, err = b.rebuild(e, Target{})
		}
		if errors.Is(err, errKey) {
			err = b.checkStored(e)
		}
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// checkStored compares the checksums of a snapshot and the logs after it, of which there is no key.
func (b *Backup) checkStored(snapshot *Entry) error {
	for i := range b.Manifest.Entries {
		if e := &b.Manifest.Entries[i]; e == snapshot || e.Kind == KindLog && e.Last > snapshot.Last {
			if err := b.store.check(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Backup) names(entries []Entry) (names []string) {
	for i := range entries {
		names = append(names, b.store.name(&entries[i]))
	}
	return names
}

// strays lists what the manifest does not name.
func (b *Backup) strays() ([]Stored, error) {
	all, err := b.store.list()
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	named := b.names(b.Manifest.Entries)
	return slices.DeleteFunc(all, func(s Stored) bool { return slices.Contains(named, s.Name) }), nil
}

// RemoveStrays removes the files of the form of a backup that the manifest does not name, and that no run can be
// about to name. It returns those.
func (b *Backup) RemoveStrays() ([]Stored, error) {
	done, err := b.begin()
	if err != nil {
		return nil, err
	}
	defer done.Close()
	strays, err := b.strays()
	if err != nil {
		return nil, err
	}
	strays = slices.DeleteFunc(strays, func(s Stored) bool { return s.Recent })
	var names []string
	for _, s := range strays {
		names = append(names, s.Name)
	}
	if err := b.store.remove(names); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return strays, nil
}
