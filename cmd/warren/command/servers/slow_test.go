package servers

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
)

const someSlow = `{"threshold_ms":500,"found":7,"operations":[{"began":1795239203112,"operation":"setData",
"path":"/a\u001b[2J","session":"s-1","zxid":"0x100000003","ms":812.5,"slowest":"sync",
"stages":{"queue":0.5,"prepare":2,"forward":0,"sync":800,"quorum":4,"apply":5,"socket":1}}],
"command":"slow","error":null}`

func TestSlow(t *testing.T) {
	port, _ := adminThatTells(t, someSlow)
	out := runs(t, "slow", "--admin-port", port, "127.0.0.1:1")
	require.Contains(t, out, "127.0.0.1:1: 7 operations took 500 ms or longer")
	require.Contains(t, out, "812.5  sync     queue 0.5, prepare 2.0, sync 800.0, quorum 4.0, apply 5.0, socket 1.0")
	require.Contains(t, out, `"/a\x1b[2J"`)
	require.NotContains(t, out, "\x1b", "a path must not steer the terminal")

	out = runs(t, "slow", "--output", "json", "--admin-port", port, "127.0.0.1:1", "127.0.0.1:2")
	var all slowOfAll
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all.Servers, 2)
	require.Len(t, all.Operations, 2)
	require.Equal(t, "127.0.0.1:2", all.Operations[1].Server)
}

func TestSlowSaysWhatIsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"<html>": "is it Warren's",
		`{"command":"slow","error":"Unknown command: slow"}`:    "Unknown command: slow",
		`{"threshold_ms":0,"operations":[],"error":null}`:       "warren.slow.threshold is off",
		`{"command":"slow","error":"not now` + "\x1b" + `[2J"}`: "nothing that can be read",
	} {
		port, _ := adminThatTells(t, text)
		code, out, _ := run("slow", "--admin-port", port, "127.0.0.1:1")
		require.Equal(t, cli.ExitUnexpected, code)
		require.Contains(t, out, says)
	}
	for _, args := range [][]string{{"--limit", "0"}, {"--limit", "1001"}, {"--output", "xml"}} {
		code, _, _ := run(append([]string{"slow"}, args...)...)
		require.Equal(t, cli.ExitUsage, code, args)
	}
}
