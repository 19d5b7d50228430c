package console

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// audited writes the audit log into a file.
func audited(c *config.Config) { c.Audit.Enabled, c.Audit.File = true, "/audit.log" }

func TestAuditShowsWhoHasChangedWhat(t *testing.T) {
	j := visit(t, desk, 1, audited)
	j.show("audit")
	j.awaitText("#audit", "needs the login of the super user")
	j.loginApp()
	j.awaitText("#audit", "serverStart")
	j.create("/"+hostile, "") // by a client without a name
	j.show("tree?path=%2F")
	j.button("New child")
	j.enterText("dialog input", "by-super")
	j.button("Create")
	j.awaitText("#znode h1", "by-super")
	j.show("audit")
	j.awaitText("#audit tbody tr:first-child", "/by-super")
	j.awaitText("#audit tbody tr:first-child", "super")
	j.awaitText("#audit", "<script>alert(1)<")
	j.enterText("[aria-label='Filter the audit log']", "by-super")
	j.await("document.querySelectorAll('#audit tbody tr').length === 1")
	j.button("Failed")
	j.awaitText("#audit", "No line matches")
	j.button("All")
	j.click("#audit tbody a")
	j.awaitText("#znode h1", "by-super")
}

func TestAuditSaysHowItIsSwitchedOn(t *testing.T) {
	j := visit(t, telephone, 1)
	j.show("audit")
	j.loginApp()
	j.awaitText("#audit", "audit.enable=true")
}

// A user that is named by an ACL of one znode does not learn what others do.
func TestAuditIsForTheSuperUser(t *testing.T) {
	j := visit(t, desk, 1, audited)
	j.createFor("bob", "x")
	j.show("audit")
	j.loginAs("bob", "x")
	j.awaitText("#audit", "No read permission")
	j.show("backups")
	j.awaitText("#backups", "No read permission")
}

// A backup is complete, until one of its files is gone.
func TestBackupsTellHowCompleteTheyAre(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.ConsoleBackups = []string{"/backup", "/none"} })
	j.create("/a", "kept")
	disk := j.ensemble.Disk(1)
	b := must.Do(backup.Open(disk, "/backup"))(t)
	j.show("backups")
	j.awaitText("#backups", "needs the login of the super user")
	j.loginApp()
	j.awaitText("[aria-label='/none']", "no run of warren backup has finished here")
	must.Do(b.AddRemote(t.Context(), backup.Remote{
		URL:           "http://" + j.ensemble.Server(1).AdminAddr().String() + "/commands",
		Authorization: "digest super:test"}))(t)
	j.show("servers") // and back: nobody waits for the next look
	j.show("backups")
	j.awaitText("[aria-label='/backup']", "Complete")
	j.await(`/just now|\d+ (s|min) ago/.test(document.querySelector("[aria-label='/backup']").textContent)`)
	j.awaitText("[aria-label=Snapshots]", "snapshot.")
	j.button("Verify")
	j.awaitText("[aria-label='/backup']", "match their checksums")
	file := "/backup/" + b.Manifest.Entries[0].File
	require.NoError(t, disk.Flip(file, 20, 1)) // as a failing disk does
	j.button("Verify")
	j.awaitText("[aria-label='/backup']", "Not verified: "+filepath.Base(file))
	require.NoError(t, disk.Flip(file, 20, 1))
	j.button("Verify")
	j.awaitText("[aria-label='/backup']", "match their checksums")
	j.button("Restore…")
	j.awaitText("dialog .steps", "warren backup verify /backup")
	j.enterText("dialog select", "zxid")
	j.enterText("dialog input", "0x1")
	j.awaitText("dialog .steps", "warren restore /backup /data --force --zxid 0x1")
	require.NotContains(t, eval[string](j, "document.querySelector('dialog .steps').textContent"), "DATA_DIR")
	j.button("Close")
	require.NoError(t, disk.Remove(file))
	j.show("servers")
	j.show("backups")
	j.awaitText("[aria-label='/backup']", "Not complete")
	j.awaitText("[aria-label='/backup']", "1 of its 1 files are missing")
}

func TestBackupsSayHowTheyAreMade(t *testing.T) {
	j := visit(t, telephone, 1)
	j.show("backups")
	j.loginApp()
	j.awaitText("#backups", "warren backup create")
	j.awaitText("#backups", "warren.console.backups")
}
