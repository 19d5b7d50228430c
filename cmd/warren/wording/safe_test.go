package wording_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/wording"
)

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"as it is: \"é\" \\\n\t": "as it is: \"é\" \\\n\t",
		"\x1b[2J\r\u009b1m":      `\x1b[2J\r\u009b1m`,
		"turned \u202e round":    `turned \u202e round`,
	} {
		require.Equal(t, want, wording.Safe(text))
	}
}

func TestSafeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\u00e9 \n\t"}` + "\n":           `{"a":"\u00e9 \n\t"}` + "\n",
		"{\"a\":\"\u009b2J\x7f\u202e\u00e9\"}": `{"a":"\u009b2J\u007f\u202e` + "\u00e9\"}",
	} {
		require.Equal(t, want, string(wording.SafeJSON([]byte(text))))
	}
}
