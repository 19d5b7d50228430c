package facts

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/wal/vfs"
)

// Verifying reads what is stored, be it encrypted or not; another byte, a missing file and an end are told.
func TestVerifyBackup(t *testing.T) {
	disk := vfs.NewMem()
	f := &Facts{Env: &env.Env{FS: disk}}
	write := func(name, text string) {
		require.NoError(t, vfs.WriteFile(disk, name, []byte(text)))
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	require.NoError(t, disk.MkdirAll("/b"))
	const none = "0000"
	body := fmt.Sprintf(`{"format":1,"entries":[{"kind":"snapshot","file":"one","bytes":5,"sha256":%q},`+
		`{"kind":"log","file":"two","bytes":100,"sha256":%q,"sealed":{"method":"age","bytes":6,"sha256":%q}}]}`+"\n",
		sum("plain"), none, sum("sealed"))
	write("/b/manifest.json", body+"sha256 "+sum(body)+"\n")
	write("/b/one", "plain")
	require.ErrorContains(t, f.VerifyBackup("/b", func(int64, int64) bool { return true }), "two")
	write("/b/two", "sealed")
	read, all := int64(0), int64(0)
	require.NoError(t, f.VerifyBackup("/b", func(n, of int64) bool { read, all = n, of; return true }))
	require.Equal(t, []int64{11, 11}, []int64{read, all})
	require.ErrorIs(t, f.VerifyBackup("/b", func(int64, int64) bool { return false }), errEnded)
	for _, other := range []string{"plaiN", "plain and more", "pla"} {
		write("/b/one", other)
		require.ErrorContains(t, f.VerifyBackup("/b", func(int64, int64) bool { return true }), "one: ", other)
	}
	require.ErrorContains(t, f.VerifyBackup("/none", nil), "manifest.json")
}
