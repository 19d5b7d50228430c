package words

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
)

func TestWhitelist(t *testing.T) {
	for name, tc := range map[string]struct {
		list     []string
		readOnly bool
		word     string
		allowed  bool
	}{
		"srvr is always allowed":    {nil, false, "srvr", true},
		"others are not":            {nil, false, "ruok", false},
		"a star is all":             {[]string{"srvr", "*"}, false, "ruok", true},
		"listed":                    {[]string{"ruok"}, false, "ruok", true},
		"isro with read-only mode":  {nil, true, "isro", true},
		"isro without":              {nil, false, "isro", false},
		"nothing is a prefix match": {[]string{"ruo"}, false, "ruok", false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.FourLetterWhitelist, cfg.ReadOnlyMode = tc.list, tc.readOnly
			w := New(&facts.Facts{Env: &env.Env{Config: cfg}}, nil)
			require.Equal(t, tc.allowed, w.allows(tc.word))
		})
	}
}

// Every word may be in the whitelist of words, but that which needs none.
func TestWhitelistKnowsEveryWord(t *testing.T) {
	var all []string
	for w := range table {
		if w != facts.RecordWord {
			all = append(all, w)
		}
	}
	text := "dataDir=/data\nclientPort=0\n4lw.commands.whitelist=" + strings.Join(all, ",") + "\n"
	cfg, warnings, err := config.Parse(strings.NewReader(text), "./zoo.cfg")
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.ElementsMatch(t, all, cfg.FourLetterWhitelist)
}
