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

func TestDecimalIsJavasDouble(t *testing.T) {
	for v, want := range map[Decimal]string{0: "0.0", 1: "1.0", 1.41666: "1.4167", 0.00001: "0.0", 123456789: "123456789.0"} {
		got, err := v.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
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
