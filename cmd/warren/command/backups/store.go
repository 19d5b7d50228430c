package backups

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/backup/s3"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/wal/vfs"
)

// missingBackup is said to who names none.
const missingBackup = "name a backup: a folder or s3://BUCKET/PREFIX"

// bucketScheme begins the names of backups that are not folders.
const bucketScheme = "s3://"

// backupStore are the flags that say how a backup in a bucket is reached.
type backupStore struct {
	bucket     s3.Options
	recipients string
	identities string
	scratch    string
}

// addTo adds the flags. Only commands that write encrypt.
func (o *backupStore) addTo(flags *pflag.FlagSet, writes bool) {
	flags.StringVar(&o.bucket.Endpoint, "s3-endpoint", "",
		"URL of the store, if it is not Amazon's; also AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL")
	flags.StringVar(&o.bucket.Region, "s3-region", "", "region of the store; also AWS_REGION")
	flags.BoolVar(&o.bucket.PathStyle, "s3-path-style", false,
		"put the bucket in the path, not in the host name")
	flags.StringVar(&o.bucket.CA, "s3-ca", "",
		"PEM file of certificates to trust besides the system's; also AWS_CA_BUNDLE")
	flags.StringVar(&o.identities, "identity", "",
		"file with age identities (AGE-SECRET-KEY-1...) that decrypt what is read")
	flags.StringVar(&o.scratch, "scratch", "", "where to keep temporary copies of a bucket's files (default "+
		"$TMPDIR)")
	if writes {
		flags.StringVar(&o.recipients, "encrypt-to", "",
			"file with age recipients (age1...) for whom to encrypt what is stored in a bucket")
	}
}

// given reports whether a flag was given that is for buckets only.
func (o *backupStore) given() bool {
	return o.bucket != (s3.Options{}) || o.recipients != "" || o.identities != "" || o.scratch != ""
}

// open opens a backup, which may be empty. The caller calls done at the end.
func (o *backupStore) open(cmd *cobra.Command, name string) (b *backup.Backup, done func(), err error) {
	if !strings.HasPrefix(name, bucketScheme) {
		if o.given() {
			return nil, nil, cli.Misuse(cmd,
				fmt.Errorf("%s is a folder: --s3-*, --encrypt-to, --identity and --scratch are for %s... only",
					name, bucketScheme))
		}
		b, err = backup.Open(vfs.OS(), name)
		return b, func() {}, err
	}
	keys, err := o.keys()
	if err != nil {
		return nil, nil, err
	}
	bucket, err := s3.Open(cmd.Context(), name, o.bucket)
	if err != nil {
		return nil, nil, err
	}
	scratch, err := os.MkdirTemp(o.scratch, "warren-backup-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(scratch) }
	b, err = backup.OpenObjects(cmd.Context(), bucket,
		backup.ObjectOptions{FS: vfs.OS(), Scratch: scratch, Keys: keys})
	if err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}

// keys reads the files of keys.
func (o *backupStore) keys() (backup.Keys, error) {
	if _, err := backup.ReadKeys(vfs.OS(), o.recipients, ""); err != nil {
		return backup.Keys{}, wording.File("--encrypt-to", o.recipients, err)
	}
	keys, err := backup.ReadKeys(vfs.OS(), o.recipients, o.identities)
	return keys, wording.File("--identity", o.identities, err)
}

// openFull opens a backup that exists.
func (o *backupStore) openFull(cmd *cobra.Command, name string) (*backup.Backup, func(), error) {
	b, done, err := o.open(cmd, name)
	if err == nil && len(b.Manifest.Entries) == 0 {
		done()
		err = fmt.Errorf("%s is not a backup: it has no manifest.json, or an empty one", name)
	}
	return b, done, err
}
