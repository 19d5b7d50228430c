package znodetext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto/paths"
	"github.com/seed94657493/warren/test/must"
)

// A document that is taken has parents before children, each once, and data that is written again as it was read.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"warrenExport":1,"root":"/a","znodes":[{"path":""},{"path":"/b","base64":"/w=="},` +
		`{"path":"/b/c","kind":"ttl","ttl":5,"acl":[{"scheme":"world","id":"anyone","perms":"r"}]}]}`))
	f.Add([]byte(`{"warrenExport":1,"znodes":[{"path":""},{"path":"b"}]}`))
	f.Add([]byte(`{"warrenExport":1,"znodes":[{"path":"","data":"x","base64":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Document
		if json.Unmarshal(text, &d) != nil || d.Check() != nil {
			return
		}
		seen := map[string]bool{}
		for i := range d.Znodes {
			z := &d.Znodes[i]
			require.False(t, seen[z.Path])
			require.True(t, i == 0 && z.Path == "" || seen[z.Path[:strings.LastIndexByte(z.Path, '/')]])
			require.True(t, paths.Valid([]byte("/a"+z.Path)))
			seen[z.Path] = true
			content := must.Do(z.Content())(t)
			again := DocumentZnode{Path: z.Path}
			again.SetContent(content)
			require.Equal(t, content, must.Do(again.Content())(t))
		}
	})
}
