package visible

import (
	"path/filepath"

	"github.com/seed94657493/warren/server/internal/facts"
)

// Backups is from what a state can be brought back.
type Backups struct {
	Snapshots []SnapshotFile       `json:"snapshots" doc:"on the disk of this server, the newest first"`
	Folders   []facts.BackupFolder `json:"folders" doc:"those of warren.console.backups"`
}

// SnapshotFile is a snapshot on the disk of the server.
type SnapshotFile struct {
	Name     string `json:"name" doc:"of the file"`
	Zxid     string `json:"zxid" doc:"the last txn that was applied when it was begun, hexadecimal"`
	Bytes    int64  `json:"bytes" doc:"of the file"`
	At       int64  `json:"at" doc:"when it was written, ms since 1970; 0 if that is not known"`
	Verified bool   `json:"verified" doc:"it was read completely and found good"`
}

// Backups returns the snapshots on the disk of the server, and what the folders of backups hold.
func (n *Shown) Backups(a Actor) (*Backups, error) {
	if err := n.MaySeeAll(a); err != nil {
		return nil, err
	}
	all := &Backups{Snapshots: []SnapshotFile{}, Folders: n.BackupFolders()}
	files, err := n.disk.Snaps.List()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		s := SnapshotFile{Name: f.Name, Zxid: f.Zxid.String(), Bytes: f.Size, Verified: f.Verified}
		if info, err := n.FS.Stat(filepath.Join(n.SnapDir(), f.Name)); err == nil {
			s.At = info.ModTime().UnixMilli()
		}
		all.Snapshots = append(all.Snapshots, s)
	}
	return all, nil
}
