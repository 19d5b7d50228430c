package admin

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLayIsZooKeepersLayout(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                         `{ }`,
		`{"a":[]}`:                   "{\n  \"a\" : [ ]\n}",
		`{"a":[1,2]}`:                "{\n  \"a\" : [ 1, 2 ]\n}",
		`{"a":{"b":{}}}`:             "{\n  \"a\" : {\n    \"b\" : { }\n  }\n}",
		`{"a":[{"b":1},{"b":[[]]}]}`: "{\n  \"a\" : [ {\n    \"b\" : 1\n  }, {\n    \"b\" : [ [ ] ]\n  } ]\n}",
		`{"a,:{\"":"}]\\","c":null}`: "{\n  \"a,:{\\\"\" : \"}]\\\\\",\n  \"c\" : null\n}",
	} {
		require.Equal(t, want, string(lay(nil, []byte(in))), in)
	}
}

// Layout changes blanks only, whatever the text.
func FuzzLay(f *testing.F) {
	f.Add(`{"a":[{"b":"x\\\" "},[],{}],"c":-1.5e3}`)
	f.Add(`[[1,2],{"":{}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var short bytes.Buffer
		if json.Compact(&short, []byte(text)) != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, json.Compact(&again, lay(nil, short.Bytes())))
		require.Equal(t, short.String(), again.String())
	})
}
