package facts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// BackupFolder is a folder with a backup, as its manifest tells.
type BackupFolder struct {
	Folder    string `json:"folder" doc:"as the setting names it"`
	Trouble   string `json:"trouble" doc:"why nothing is known, or what is wrong; empty if nothing is"`
	Source    string `json:"source" doc:"the server from which it was made"`
	Snapshots int    `json:"snapshots" doc:"their number"`
	Txns      int64  `json:"txns" doc:"in its logs"`
	Bytes     int64  `json:"bytes" doc:"of its files, before they were encrypted"`
	Last      string `json:"last" doc:"the last txn, hexadecimal; empty if there is none"`
	LastAt    int64  `json:"lastAt" doc:"when the last txn of a log was made, ms since 1970; 0 if that is not known"`
	Taken     int64  `json:"taken" doc:"when the newest run began that has added a file, ms since 1970; 0 for none"`
	Encrypted bool   `json:"encrypted" doc:"some of its files are"`
	Missing   int    `json:"missing" doc:"files that are not there in the size that the manifest tells"`
}

// Bounds of looking at backups.
const (
	backupFoldersMax  = 20
	backupManifestMax = 16 << 20 // bytes
	backupEntriesMax  = 10_000   // as warren backup keeps: 800 bytes each at most
)

// backupManifest is what the manifest of a backup tells, as far as it is shown. Package backup of the command writes
// it.
type backupManifest struct {
	Format  int           `json:"format"`
	Source  string        `json:"source"`
	Entries []backupEntry `json:"entries"`
}

// backupEntry is one file of a backup.
type backupEntry struct {
	Kind     string    `json:"kind"`
	File     string    `json:"file"`
	Bytes    int64     `json:"bytes"`
	SHA256   string    `json:"sha256"`
	Last     string    `json:"last"`
	Txns     int64     `json:"txns"`
	LastTime int64     `json:"lastTime"`
	Taken    time.Time `json:"taken"`
	Sealed   *struct {
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	} `json:"sealed"`
}

// stored is the size and the checksum of the file as it is stored, which may be encrypted.
func (e *backupEntry) stored() (int64, string) {
	if e.Sealed != nil {
		return e.Sealed.Bytes, e.Sealed.SHA256
	}
	return e.Bytes, e.SHA256
}

// Bounds of the time for a look at folders. The disk of one may be that of another machine, which may not answer: then
// what was known last is told at first.
const backupWait, backupHangs = time.Second, 30 * time.Second

// backupLooks are the looks at folders of backups: one at a time for each folder, however many ask.
type backupLooks struct {
	mu  sync.Mutex
	all map[string]*backupLook
}

// backupLook is what is known of a folder.
type backupLook struct {
	last  BackupFolder
	began time.Time
	ended chan struct{} // nil if no look goes on
}

// BackupFolders describes the backups in the folders of warren.console.backups. It waits at most backupWait for their
// disks.
func (f *Facts) BackupFolders() []BackupFolder {
	folders := f.Config.Admin.ConsoleBackups[:min(len(f.Config.Admin.ConsoleBackups), backupFoldersMax)]
	var looks []<-chan struct{}
	for _, folder := range folders {
		looks = append(looks, f.lookAtBackup(folder))
	}
	late, cancel := context.WithTimeout(context.Background(), backupWait)
	defer cancel()
	for _, ended := range looks {
		select {
		case <-ended:
		case <-late.Done():
		}
	}
	f.backups.mu.Lock()
	defer f.backups.mu.Unlock()
	all := []BackupFolder{}
	for _, folder := range folders {
		look := f.backups.all[folder]
		b := look.last
		if waits := f.Runtime.Now().Sub(look.began); look.ended != nil && (b.Folder == "" || waits >= backupHangs) {
			b.Folder, b.Trouble = folder, fmt.Sprintf("its disk has not answered for %v", waits.Round(time.Second))
		}
		all = append(all, b)
	}
	return all
}

// lookAtBackup looks at a folder, unless that goes on already. It returns what is closed when the look has ended.
func (f *Facts) lookAtBackup(folder string) <-chan struct{} {
	f.backups.mu.Lock()
	defer f.backups.mu.Unlock()
	if f.backups.all == nil {
		f.backups.all = map[string]*backupLook{}
	}
	look := f.backups.all[folder]
	if look == nil {
		look = &backupLook{}
		f.backups.all[folder] = look
	}
	if look.ended == nil {
		ended := make(chan struct{})
		look.began, look.ended = f.Runtime.Now(), ended
		f.Runtime.Go("backup folder", func() {
			defer close(ended)
			found := backupIn(f.FS, folder)
			f.backups.mu.Lock()
			defer f.backups.mu.Unlock()
			look.last, look.ended = found, nil
		})
	}
	return look.ended
}

func backupIn(fsys vfs.FS, folder string) BackupFolder {
	b := BackupFolder{Folder: folder}
	m, err := readManifest(fsys, filepath.Join(folder, "manifest.json"))
	if err != nil {
		b.Trouble = err.Error()
		return b
	}
	b.Source = m.Source
	last := proto.Zxid(0)
	for _, e := range m.Entries {
		var z uint64
		if _, err := fmt.Sscanf(e.Last, "0x%x", &z); err == nil && proto.Zxid(z) >= last {
			last, b.Last = proto.Zxid(z), e.Last
		}
		if e.Kind == "snapshot" {
			b.Snapshots++
		}
		size, _ := e.stored()
		b.Encrypted = b.Encrypted || e.Sealed != nil
		b.Bytes, b.Txns = b.Bytes+e.Bytes, b.Txns+e.Txns
		b.LastAt, b.Taken = max(b.LastAt, e.LastTime), max(b.Taken, e.Taken.UnixMilli())
		info, err := fsys.Stat(filepath.Join(folder, filepath.Base(e.File)))
		if err != nil || info.Size() != size {
			b.Missing++
		}
	}
	switch {
	case b.Missing > 0:
		b.Trouble = fmt.Sprintf("%d of its %d files are missing, or have another size than its manifest tells",
			b.Missing, len(m.Entries))
	case len(m.Entries) == 0:
		b.Trouble = "it is empty"
	}
	return b
}

// readManifest reads a manifest, and checks the checksum at its end.
func readManifest(fsys vfs.FS, name string) (*backupManifest, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("there is no manifest.json: no run of warren backup has finished here")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, backupManifestMax+1))
	if err != nil {
		return nil, err
	}
	body := text[:max(bytes.LastIndex(text, []byte("sha256 ")), 0)]
	m := new(backupManifest)
	switch {
	case len(text) > backupManifestMax:
		return nil, fmt.Errorf("its manifest is larger than %d MiB", backupManifestMax>>20)
	case string(text[len(body):]) != fmt.Sprintf("sha256 %x\n", sha256.Sum256(body)):
		return nil, errors.New("its manifest is damaged: the checksum does not match")
	}
	err = json.Unmarshal(body, m)
	if err == nil && (m.Format != 1 || len(m.Entries) > backupEntriesMax) {
		err = errors.New("its format is not known")
	}
	return m, err
}
