package arch

import (
	"maps"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// persons are words for persons. A comment names the server, goroutine, connection or program instead. "anyone" is
// not among them: it is an id of ZooKeeper.
var persons = regexp.MustCompile(`(?i)\b(who|whoever|whom|nobody|somebody|anybody|everybody|someone|everyone|shall)\b`)

// exceptions are words that a comment has to repeat: an exported name, and the output of an example.
var exceptions = map[string]string{
	"server/internal/audit/line.go": "Who",
}

func TestCommentsNameTheirSubject(t *testing.T) {
	unused := maps.Clone(exceptions)
	for _, f := range files(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				for _, word := range persons.FindAllString(c.Text, -1) {
					if word == exceptions[f.name] {
						delete(unused, f.name)
						continue
					}
					t.Errorf("%s: comment with %q: name the server, goroutine or program",
						fileSet.Position(c.Pos()), word)
				}
			}
		}
	}
	require.Empty(t, unused, "exceptions that no comment needs")
}

func TestPersons(t *testing.T) {
	for _, text := range []string{"// Who waits is woken.", "// nobody else writes", "/* it shall end */"} {
		require.True(t, persons.MatchString(text), "%s", text)
	}
	for _, text := range []string{
		"// world:anyone", "// a server whose history differs", "// shallow", "// the whole state", "// WhoAmI",
	} {
		require.False(t, persons.MatchString(text), "%s", text)
	}
}
