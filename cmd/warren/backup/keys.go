package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/seed94657493/warren/wal/vfs"
)

// Keys encrypt what is stored and decrypt what is read, in the format of age-encryption.org. Without recipients files
// are stored as they are. The manifest is never encrypted: it holds sizes, zxids, times and checksums.
type Keys struct {
	recipients []age.Recipient
	identities []age.Identity
}

// keysBytesMax bounds a file with keys.
const keysBytesMax = 1 << 20

// ReadKeys reads a file with public keys (age1..., one in a line) for the readers of what is stored, and a file
// with private keys (AGE-SECRET-KEY-1...) for what is read. Either name may be "".
func ReadKeys(fsys vfs.FS, recipients, identities string) (k Keys, err error) {
	if recipients != "" {
		if k.recipients, err = readKeys(fsys, recipients, age.ParseRecipients); err != nil {
			return Keys{}, err
		}
	}
	if identities != "" {
		if k.identities, err = readKeys(fsys, identities, age.ParseIdentities); err != nil {
			return Keys{}, err
		}
	}
	return k, nil
}

func readKeys[K any](fsys vfs.FS, name string, parse func(io.Reader) ([]K, error)) ([]K, error) {
	text, err := vfs.ReadFile(fsys, name, keysBytesMax)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	keys, err := parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("backup: %s: %w", name, err)
	}
	return keys, nil
}

// seals reports whether files are encrypted.
func (k *Keys) seals() bool { return len(k.recipients) > 0 }

// seal writes the encrypted form of a file.
func (k *Keys) seal(fsys vfs.FS, from, to string) (*Sealed, error) {
	plain, err := fsys.Open(from)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	f, err := fsys.Create(to)
	if err != nil {
		return nil, err
	}
	w := &fileWriter{tmp: to, f: f, sum: sha256.New()}
	err = k.encrypt(w, plain)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return &Sealed{Method: methodAge, Bytes: w.bytes, SHA256: hex.EncodeToString(w.sum.Sum(nil))}, nil
}

func (k *Keys) encrypt(w io.Writer, plain io.Reader) error {
	sealing, err := age.Encrypt(w, k.recipients...)
	if err != nil {
		return err
	}
	_, err = io.Copy(sealing, plain)
	return errors.Join(err, sealing.Close())
}

// open returns what an encrypted file holds. There is an identity.
func (k *Keys) open(sealed io.Reader) (io.Reader, error) {
	plain, err := age.Decrypt(sealed, k.identities...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, errKey
	}
	return plain, err
}
