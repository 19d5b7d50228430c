package config

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseProperties(t *testing.T) {
	tests := []struct {
		name, text string
		want       []entry
	}{
		{"equals", "clientPort=2181", []entry{{"clientPort", "2181", 1}}},
		{"colon", "clientPort: 2181", []entry{{"clientPort", "2181", 1}}},
		{"blank", "clientPort 2181", []entry{{"clientPort", "2181", 1}}},
		{"blanks around", "  clientPort \t = \t 2181  ", []entry{{"clientPort", "2181", 1}}},
		{"only the first separator counts", "a = = b", []entry{{"a", "= b", 1}}},
		{"host and port in a value", "server.1=h:2888:3888;[::]:2181",
			[]entry{{"server.1", "h:2888:3888;[::]:2181", 1}}},
		{"no value", "a\nb=\nc:", []entry{{"a", "", 1}, {"b", "", 2}, {"c", "", 3}}},
		{"no key", "=a", []entry{{"", "a", 1}}},
		{"comments and empty lines", "# a=1\n\n  ! b=2\n\t\nc=3 # 4", []entry{{"c", "3 # 4", 5}}},
		{"a comment does not continue", "# a \\\nb=1", []entry{{"b", "1", 2}}},
		{"line ends", "a=1\rb=2\r\nc=3\n", []entry{{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}}},
		{"continued", "a=1,\\\n   2,\\\r\n\t3\nb=4", []entry{{"a", "1,2,3", 1}, {"b", "4", 4}}},
		{"continued key", "cli\\\n  entPort=1", []entry{{"clientPort", "1", 1}}},
		{"a continued line is no comment", "a=1\\\n#2", []entry{{"a", "1#2", 1}}},
		{"a blank line ends a continued one", "a=1\\\n\nb=2", []entry{{"a", "1", 1}, {"b", "2", 3}}},
		{"continued into the end", "a=1\\", []entry{{"a", "1", 1}}},
		{"an even number of backslashes does not continue", "a=1\\\\\nb=2", []entry{{"a", `1\`, 1}, {"b", "2", 2}}},
		{"escapes", `a\:b\=c\ d=\tx\n\r\f\\\q`, []entry{{"a:b=c d", "x\n\r\f\\q", 1}}},
		{"windows path", `dataDir=C:\\zk\\data`, []entry{{"dataDir", `C:\zk\data`, 1}}},
		{"windows path with single backslashes loses them", `dataDir=C:\zk\data`, []entry{{"dataDir", `C:zkdata`, 1}}},
		{"unicode", `a=\u0041\u00e9`, []entry{{"a", "A\u00e9", 1}}},
		{"surrogates", `a=\ud83d\ude00b\ud83d`, []entry{{"a", "\U0001F600b\ufffd", 1}}},
		{"utf-8", "a=\u00e9", []entry{{"a", "\u00e9", 1}}},
		{"byte order mark", "\ufeffa=1", []entry{{"a", "1", 1}}},
		{"latin-1", "a=\xe9", []entry{{"a", "\u00e9", 1}}},
		{"order and duplicates are kept", "b=1\na=2\nb=3", []entry{{"b", "1", 1}, {"a", "2", 2}, {"b", "3", 3}}},
		{"nothing", "", nil},
		{"a lone backslash", `\`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := parseProperties([]byte(tt.text), "f")
			require.Empty(t, problems)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestMalformedEscape(t *testing.T) {
	for _, text := range []string{`a=\u00`, `a=\u12g4`, `\uzzzz=1`, `a=\u`} {
		got, problems := parseProperties([]byte("b=1\n"+text+"\nc=2"), "f")
		require.Len(t, got, 2, text)
		require.Len(t, problems, 1, text)
		require.Equal(t, "f", problems[0].File)
		require.Equal(t, 2, problems[0].Line)
		require.Contains(t, problems[0].Rule, "malformed")
	}
}

// FuzzProperties: no panic, every entry is trimmed text of a line that exists, and writing the entries out in the
// plainest form reads back as the same entries.
func FuzzProperties(f *testing.F) {
	for _, seed := range []string{
		sampleFile, "a=1\\\n 2", `a\:b=\u0041`, "a=\xe9\r\n!x\r#y", "\ufeffa b", `\`, "a=\\\n\\\n\\",
		`\u0`, "=", ":::",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, problems := parseProperties(text, "f")
		lines := 1 + bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r"))
		require.LessOrEqual(t, len(entries)+len(problems), lines)
		var b strings.Builder
		b.WriteString("#\n") // so that a byte order mark of the first key is none of the file
		for i, e := range entries {
			require.True(t, utf8.ValidString(e.key) && utf8.ValidString(e.value))
			require.Equal(t, trim(e.key), e.key)
			require.Equal(t, trim(e.value), e.value)
			require.LessOrEqual(t, e.line, lines)
			require.Positive(t, e.line)
			if i > 0 {
				require.Greater(t, e.line, entries[i-1].line)
			}
			b.WriteString(escape(e.key) + "=" + escape(e.value) + "\n")
		}
		again, problems := parseProperties([]byte(b.String()), "g")
		require.Empty(t, problems)
		require.Len(t, again, len(entries))
		for i := range again {
			require.Equal(t, entries[i].key, again[i].key)
			require.Equal(t, entries[i].value, again[i].value)
		}
	})
}

// escape writes a key or value so that it stands for itself.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\f", `\f`, "\t", `\t`, " ", `\ `, "=", `\=`, ":",
		`\:`, "#", `\#`, "!", `\!`).Replace(s)
}
