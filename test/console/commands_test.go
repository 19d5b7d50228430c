package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// wordsOf returns the words that a shell makes of a command that the page shows.
func (j *journey) wordsOf(selector string) []string {
	j.t.Helper()
	j.await(fmt.Sprintf("document.querySelector(%q)", selector))
	text := eval[string](j, fmt.Sprintf("document.querySelector(%q).textContent", selector))
	text = strings.ReplaceAll(text, " && ", " '&&' ") // one command follows another
	words, err := exec.CommandContext(j.t.Context(), "sh", "-c", `printf '%s\0' `+text).CombinedOutput()
	require.NoError(j.t, err, text)
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
}

// escape closes the dialog, once it is open: Escape reaches none before that.
func (j *journey) escape() {
	j.t.Helper()
	j.await("document.querySelector('dialog[open]')")
	j.press(kb.Escape)
	j.await("!document.querySelector('dialog')")
}

// quoted is a text as JSON.
func quoted(t *testing.T, text string) string {
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return string(b)
}

// What a dialog does can be copied as a command and as a call of the API, whatever a znode is called.
func TestActionsAsCommands(t *testing.T) {
	j := visit(t, desk, 3)
	leader := j.toLeader()
	path := "/it's $(touch `x`) \"" + hostile
	j.create(path, "")
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.show("tree")
	j.loginApp()
	j.show("tree?path=" + url.QueryEscape(path))
	j.button("Delete")
	require.Equal(t, []string{"warren", "shell", "-s", j.ensemble.Addr(leader), "delete", "-v", "0", path},
		j.wordsOf("dialog .command code"))
	call := j.wordsOf("dialog .command:last-child code")
	require.Equal(t, []string{"curl", "-X", "DELETE"}, call[:3])
	require.Contains(t, call[3], "/api/v1/znode?path=%2Fit%27s")
	j.escape()
	shell := []string{"warren", "shell", "-s", j.ensemble.Addr(leader)}
	words := func(more ...string) []string { return append(append([]string{}, shell...), more...) }
	j.more("Copy…")
	copied := append(words("export", path, "subtree.json", "&&"), words("import", "subtree.json", path+"-copy")...)
	require.Equal(t, copied, j.wordsOf("dialog .command code"))
	j.escape()
	j.show("tree?path=" + url.QueryEscape(path) + "&tab=acl")
	j.button("Edit permissions")
	require.Equal(t, words("setAcl", "-v", "0", path, "world:anyone:cdrwa"), j.wordsOf("dialog .command code"))
	j.escape()
	j.show("tree?path=" + url.QueryEscape(path))
	j.button("Edit")
	j.typeInEditor("it's")
	j.button("Review and save")
	require.Equal(t, words("set", "-v", "0", path, "it's"), j.wordsOf("dialog .command code"))
	call = j.wordsOf("dialog .command:last-child code")
	require.JSONEq(t, `{"path":`+quoted(t, path)+`,"data":"it's","encoding":"utf-8","version":0}`, call[len(call)-1])
	j.escape()
	j.button("Discard")
	j.show("servers")
	j.button("Drain this server")
	admin := strings.TrimSuffix(j.base, "console/") + "commands"
	require.Equal(t, []string{"warren", "drain", "--rate", "100", "--admin", admin, "--auth-file", "FILE"},
		j.wordsOf("dialog .command code"))
}
