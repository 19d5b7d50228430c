package sessions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

var (
	oneSecret   = strings.Repeat("1a", 16)
	otherSecret = strings.Repeat("2b", 16)
)

func TestSecrets(t *testing.T) {
	parse := func(lines ...string) Secrets {
		s := must.Do(ParseSecrets([]byte(strings.Join(lines, "\n"))))(t)
		return s
	}
	const id = proto.SessionID(0x100001a9a9a0000)
	public := proto.SessionPassword(id)
	var none Secrets
	tests := []struct {
		name      string
		s         Secrets
		told      [16]byte
		accepts   [][16]byte
		refuses   [][16]byte
		guessable bool
	}{
		{"no file", none, public, [][16]byte{public}, [][16]byte{{}, parse(oneSecret).Password(id)}, true},
		{"first step: only accepted", parse("zookeeper", oneSecret), public,
			[][16]byte{public, parse(oneSecret).Password(id)}, [][16]byte{{}, parse(otherSecret).Password(id)}, true},
		{"second step: told", parse("# of 2026", "", oneSecret, " zookeeper "), parse(oneSecret).Password(id),
			[][16]byte{public, parse(oneSecret).Password(id)}, [][16]byte{{}, parse(otherSecret).Password(id)}, true},
		{"third step: required", parse(oneSecret), parse(oneSecret).Password(id),
			[][16]byte{parse(oneSecret).Password(id)},
			[][16]byte{{}, public, parse(oneSecret).Password(id + 1)}, false},
		{"another secret", parse(otherSecret, oneSecret), parse(otherSecret).Password(id),
			[][16]byte{parse(oneSecret).Password(id), parse(otherSecret).Password(id)}, [][16]byte{{}, public}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.told, tt.s.Password(id))
			require.Equal(t, tt.guessable, tt.s.Guessable())
			for _, p := range tt.accepts {
				require.True(t, tt.s.Accepts(id, p[:]))
			}
			for _, p := range tt.refuses {
				require.False(t, tt.s.Accepts(id, p[:]))
			}
			require.False(t, tt.s.Accepts(id, nil))
			require.False(t, tt.s.Accepts(id, tt.told[:15]))
		})
	}
	// Ids that differ in the server's byte only share ZooKeeper's password.
	require.Equal(t, proto.SessionPassword(1<<56|7), proto.SessionPassword(2<<56|7))
	require.NotEqual(t, parse(oneSecret).Password(1<<56|7), parse(oneSecret).Password(2<<56|7))
}

func TestSecretsThatAreRefused(t *testing.T) {
	for text, want := range map[string]error{
		"":                                     errNoSecret,
		"# nothing\n\n":                        errNoSecret,
		"short":                                errShortSecret,
		oneSecret + "\n" + oneSecret:           errRepeatedRule,
		"zookeeper\nzookeeper":                 errRepeatedRule,
		strings.Repeat("x", SecretsBytesMax+1): errLongSecrets,
	} {
		require.ErrorIs(t, must.Err(ParseSecrets([]byte(text))), want, "%.40q", text)
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add([]byte("zookeeper\n" + oneSecret))
	f.Add([]byte("#\r\n\x00" + otherSecret))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSecrets(text)
		if err != nil {
			require.Zero(t, s)
			return
		}
		p := s.Password(7)
		require.True(t, s.Accepts(7, p[:]))
		require.False(t, s.Accepts(7, make([]byte, 16)))
	})
}
