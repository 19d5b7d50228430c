package words

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/test/must"
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
			w := New(&ensemble.Facts{Facts: &facts.Facts{Env: &env.Env{Config: cfg}}}, nil)
			require.Equal(t, tc.allowed, w.allows(tc.word))
		})
	}
}

// Every word may be in the whitelist of words.
func TestWhitelistKnowsEveryWord(t *testing.T) {
	var all []string
	for w := range table {
		all = append(all, w)
	}
	text := "dataDir=/data\nclientPort=0\n4lw.commands.whitelist=" + strings.Join(all, ",") + "\n"
	cfg, warnings := must.Do2(config.Parse(strings.NewReader(text), "./zoo.cfg"))(t)
	require.Empty(t, warnings)
	require.ElementsMatch(t, all, cfg.FourLetterWhitelist)
}

// The servers of an ensemble hear each other's record without the whitelist, others do not.
func TestWhoMayHaveTheRecord(t *testing.T) {
	e := &env.Env{Config: config.Default()}
	w := New(&ensemble.Facts{Facts: &facts.Facts{Env: e}}, nil)
	require.True(t, w.mayHaveRecord(netip.MustParseAddr("127.0.0.1")))
	require.False(t, w.mayHaveRecord(netip.MustParseAddr("192.0.2.1")))
	require.False(t, w.allows(ensemble.RecordWord))
}
