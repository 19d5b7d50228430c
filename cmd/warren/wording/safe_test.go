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
