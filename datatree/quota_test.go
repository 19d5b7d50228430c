package datatree

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]quotaLimits{
		"":                  noQuota,
		"count=3,bytes=20":  {3, 20, -1, -1},
		"count=-1,bytes=-1": noQuota,
		"bytes=20":          {-1, 20, -1, -1},
		"count=3,bytes=20=;byteHardLimit=15;countHardLimit=3": {3, 20, 3, 15},
		"count=1,,;;bytes=2":               {1, 2, -1, -1},
		"count=,bytes=":                    noQuota,
		"count":                            noQuota,
		"garbage":                          noQuota,
		"=":                                noQuota,
		",;=,;":                            noQuota,
		"count=x,bytes=7":                  {-1, 7, -1, -1},
		"count=+4,bytes=1e3":               {4, -1, -1, -1},
		"count=9223372036854775807":        {1<<63 - 1, -1, -1, -1},
		"count=9223372036854775808":        noQuota,
		"count=1,count=2":                  {2, -1, -1, -1},
		" count=1":                         noQuota,
		"countHardLimit=0,byteHardLimit=0": {-1, -1, 0, 0},
	} {
		require.Equal(t, want, parseQuota([]byte(text)), "%q", text)
	}
	require.Equal(t, noQuota, parseQuota(nil))
}

func FuzzParseQuota(f *testing.F) {
	f.Add([]byte("count=3,bytes=20=;byteHardLimit=15;countHardLimit=3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		q := parseQuota(text)
		used := quotaLimits{count: q.bytes, bytes: q.count}
		q.judge(used, 1, int64(len(text)))
		q.judge(used, 0, -int64(len(text)))
	})
}

// Server-semantics section 8.4, with the measured example of a shrinking write.
func TestQuotaJudgement(t *testing.T) {
	const top = 1<<63 - 1
	for _, c := range []struct {
		name        string
		limits      quotaLimits
		used        quotaLimits
		count, size int64
		hard, soft  bool
	}{
		{"no limits", noQuota, quotaLimits{count: 9, bytes: 9}, 1, 1, false, false},
		{"soft count", quotaLimits{2, -1, -1, -1}, quotaLimits{count: 2}, 1, 1, false, true},
		{"hard count", quotaLimits{-1, -1, 2, -1}, quotaLimits{count: 2}, 1, 1, true, false},
		{"hard count reached exactly", quotaLimits{-1, -1, 3, -1}, quotaLimits{count: 2}, 1, 1, false, false},
		{"hard wins over soft", quotaLimits{1, -1, 5, -1}, quotaLimits{count: 2}, 1, 1, false, false},
		{"count is not asked without a new znode", quotaLimits{-1, -1, 2, -1}, quotaLimits{count: 7}, 0, 1, false, false},
		{"bytes are not asked without a change", quotaLimits{-1, -1, -1, 2}, quotaLimits{bytes: 7}, 1, 0, false, false},
		{"hard bytes", quotaLimits{-1, -1, -1, 10}, quotaLimits{bytes: 8}, 0, 3, true, false},
		{"soft bytes", quotaLimits{-1, 10, -1, -1}, quotaLimits{bytes: 8}, 0, 3, false, true},
		{"shrinking but still above", quotaLimits{-1, -1, -1, 1}, quotaLimits{bytes: 3}, 0, -1, true, false},
		{"shrinking to the limit", quotaLimits{-1, -1, -1, 1}, quotaLimits{bytes: 3}, 0, -2, false, false},
		{"hard zero refuses bytes", quotaLimits{-1, -1, -1, 0}, quotaLimits{bytes: 0}, 1, 1, true, false},
		{"hard zero takes nothing", quotaLimits{-1, -1, -1, 0}, quotaLimits{bytes: 0}, 1, 0, false, false},
		{"broken use counts as none", quotaLimits{-1, -1, 1, -1}, noQuota, 1, 0, false, false},
		{"use at the top does not wrap", quotaLimits{-1, -1, -1, 5}, quotaLimits{bytes: top}, 0, 1, true, false},
		{"limit at the top does not wrap", quotaLimits{-1, -1, -1, top}, quotaLimits{bytes: 5}, 0, -1, false, false},
		{"hard count, soft bytes", quotaLimits{-1, 1, 1, -1}, quotaLimits{count: 1, bytes: 1}, 1, 1, true, true},
	} {
		hard, soft := c.limits.judge(c.used, c.count, c.size)
		require.Equal(t, c.hard, hard, c.name)
		require.Equal(t, c.soft, soft, c.name)
	}
}
