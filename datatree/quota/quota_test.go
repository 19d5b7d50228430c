package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]Limits{
		"":                  None(),
		"count=3,bytes=20":  {3, 20, -1, -1},
		"count=-1,bytes=-1": None(),
		"bytes=20":          {-1, 20, -1, -1},
		"count=3,bytes=20=;byteHardLimit=15;countHardLimit=3": {3, 20, 3, 15},
		"count=1,,;;bytes=2":               {1, 2, -1, -1},
		"count=,bytes=":                    None(),
		"count":                            None(),
		"garbage":                          None(),
		"=":                                None(),
		",;=,;":                            None(),
		"count=x,bytes=7":                  {-1, 7, -1, -1},
		"count=+4,bytes=1e3":               {4, -1, -1, -1},
		"count=9223372036854775807":        {1<<63 - 1, -1, -1, -1},
		"count=9223372036854775808":        None(),
		"count=1,count=2":                  {2, -1, -1, -1},
		" count=1":                         None(),
		"countHardLimit=0,byteHardLimit=0": {-1, -1, 0, 0},
	} {
		require.Equal(t, want, Parse([]byte(text)), "%q", text)
	}
	require.Equal(t, None(), Parse(nil))
}

func FuzzParseQuota(f *testing.F) {
	f.Add([]byte("count=3,bytes=20=;byteHardLimit=15;countHardLimit=3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		q := Parse(text)
		used := Limits{Count: q.Bytes, Bytes: q.Count}
		exceeds := func(count, size int) bool {
			hard, soft := q.Judge(used, int64(count), int64(size))
			return hard || soft
		}
		require.False(t, exceeds(0, 0), "no change")
		if !exceeds(1, len(text)) {
			require.False(t, exceeds(1, len(text)/2), "a smaller change")
		}
		if exceeds(0, -len(text)) {
			require.True(t, exceeds(0, len(text)), "what is refused to shrink is refused to grow")
		}
	})
}

func TestEffectiveLimits(t *testing.T) {
	for text, want := range map[string][2]int64{
		"":                {-1, -1},
		"count=5,bytes=7": {5, 7},
		"count=5,bytes=7;countHardLimit=3,byteHardLimit=-1": {3, 7},
		"countHardLimit=0,bytes=7=":                         {0, 7},
	} {
		count, size := Parse([]byte(text)).Effective()
		require.Equal(t, want, [2]int64{count, size}, text)
	}
}

func TestQuotaText(t *testing.T) {
	for _, text := range []string{
		"count=5,bytes=100=;byteHardLimit=-1;countHardLimit=3",
		"count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=-1",
	} {
		require.Equal(t, text, string(AppendLimits(nil, Parse([]byte(text)))))
	}
	require.Equal(t, "count=11,bytes=132", string(AppendStats(nil, Parse([]byte("count=11,bytes=132")))))
}

// server-semantics 8.4, with the measured example of a shrinking write.
func TestQuotaJudgement(t *testing.T) {
	const top = 1<<63 - 1
	for _, c := range []struct {
		name        string
		limits      Limits
		used        Limits
		count, size int64
		hard, soft  bool
	}{
		{"no limits", None(), Limits{Count: 9, Bytes: 9}, 1, 1, false, false},
		{"soft count", Limits{2, -1, -1, -1}, Limits{Count: 2}, 1, 1, false, true},
		{"hard count", Limits{-1, -1, 2, -1}, Limits{Count: 2}, 1, 1, true, false},
		{"hard count reached exactly", Limits{-1, -1, 3, -1}, Limits{Count: 2}, 1, 1, false, false},
		{"hard wins over soft", Limits{1, -1, 5, -1}, Limits{Count: 2}, 1, 1, false, false},
		{"count is not asked without a new znode", Limits{-1, -1, 2, -1}, Limits{Count: 7}, 0, 1, false, false},
		{"bytes are not asked without a change", Limits{-1, -1, -1, 2}, Limits{Bytes: 7}, 1, 0, false, false},
		{"hard bytes", Limits{-1, -1, -1, 10}, Limits{Bytes: 8}, 0, 3, true, false},
		{"soft bytes", Limits{-1, 10, -1, -1}, Limits{Bytes: 8}, 0, 3, false, true},
		{"shrinking but still above", Limits{-1, -1, -1, 1}, Limits{Bytes: 3}, 0, -1, true, false},
		{"shrinking to the limit", Limits{-1, -1, -1, 1}, Limits{Bytes: 3}, 0, -2, false, false},
		{"hard zero refuses bytes", Limits{-1, -1, -1, 0}, Limits{Bytes: 0}, 1, 1, true, false},
		{"hard zero takes nothing", Limits{-1, -1, -1, 0}, Limits{Bytes: 0}, 1, 0, false, false},
		{"broken use counts as none", Limits{-1, -1, 1, -1}, None(), 1, 0, false, false},
		{"a use below zero gives room", Limits{-1, -1, -1, 60}, Limits{Bytes: -7}, 0, 67, false, false},
		{"and no more than that", Limits{-1, -1, -1, 60}, Limits{Bytes: -7}, 0, 68, true, false},
		{"use at the bottom does not wrap", Limits{-1, -1, -1, 5}, Limits{Bytes: -top}, 0, -9, false, false},
		{"use at the top does not wrap", Limits{-1, -1, -1, 5}, Limits{Bytes: top}, 0, 1, true, false},
		{"limit at the top does not wrap", Limits{-1, -1, -1, top}, Limits{Bytes: 5}, 0, -1, false, false},
		{"hard count, soft bytes", Limits{-1, 1, 1, -1}, Limits{Count: 1, Bytes: 1}, 1, 1, true, true},
	} {
		hard, soft := c.limits.Judge(c.used, c.count, c.size)
		require.Equal(t, c.hard, hard, c.name)
		require.Equal(t, c.soft, soft, c.name)
	}
}
