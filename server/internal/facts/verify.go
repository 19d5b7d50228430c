package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/seed94657493/warren/wal/vfs"
)

// VerifyBackup reads every file of the backup in a folder, and compares it with the checksum in the manifest. read is
// told how many bytes were read of how many; the check ends when it returns false.
func (f *Facts) VerifyBackup(folder string, read func(n, of int64) bool) error {
	m, err := readManifest(f.FS, filepath.Join(folder, "manifest.json"))
	if err != nil {
		return err
	}
	if len(m.Entries) == 0 {
		return errors.New("it is empty")
	}
	all, done := int64(0), int64(0)
	for i := range m.Entries {
		size, _ := m.Entries[i].stored()
		all += size
	}
	for i := range m.Entries {
		name := filepath.Base(m.Entries[i].File)
		size, sum := m.Entries[i].stored()
		err := verifyFile(f.FS, filepath.Join(folder, name), size, sum, func(n int64) bool {
			done += n
			return read(done, all)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// errEnded is the outcome of a check that was not carried on.
var errEnded = errors.New("the check was ended")

func verifyFile(fsys vfs.FS, name string, size int64, sum string, read func(int64) bool) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	hash, part, got := sha256.New(), make([]byte, 1<<20), int64(0)
	for {
		n, err := f.Read(part)
		hash.Write(part[:n])
		got += int64(n)
		if n > 0 && !read(int64(n)) {
			return errEnded
		}
		switch {
		case err == io.EOF && (got != size || hex.EncodeToString(hash.Sum(nil)) != sum):
			return errors.New("its content is not what the manifest tells")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case got > size:
			return errors.New("it is larger than the manifest tells")
		}
	}
}
