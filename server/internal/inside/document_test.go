package inside

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A document that is taken has parents before children, each once, and data that can be read.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"warrenExport":1,"root":"/a","znodes":[{"path":""},{"path":"/b","base64":"/w=="},` +
		`{"path":"/b/c","kind":"ttl","ttl":5,"acl":[{"scheme":"world","id":"anyone","perms":"r"}]}]}`))
	f.Add([]byte(`{"warrenExport":1,"znodes":[{"path":""},{"path":"b"}]}`))
	f.Add([]byte(`{"warrenExport":1,"znodes":[{"path":"","data":"x","base64":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d *Document
		if json.Unmarshal(text, &d) != nil || d.Check(100) != nil {
			return
		}
		require.LessOrEqual(t, len(d.Znodes), 100)
		seen := map[string]bool{}
		for i := range d.Znodes {
			z := &d.Znodes[i]
			require.False(t, seen[z.Path])
			require.True(t, i == 0 || seen[z.Path[:strings.LastIndexByte(z.Path, '/')]])
			seen[z.Path] = true
			_, err := z.Content()
			require.NoError(t, err)
		}
	})
}
