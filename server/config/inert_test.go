package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Settings without a reader that are none of inert, and why.
var readOtherwise = map[string]string{
	"electionAlg":                     "has no field",
	"ssl.authProvider":                "has one value only, which is checked",
	"audit.impl.class":                "has a warning of its own",
	"requireClientAuthScheme":         "is warned of unless others ask for the same",
	"com.sun.net.ssl.checkRevocation": "is refused unless others ask for the same",
}

// Every setting has an effect, or is in inert: an operator must not tune a setting that nothing reads. A field
// counts as read if a file of the server or of a command names it, outside of the tests and of the code that
// reads and checks settings.
func TestEverySettingIsReadOrInert(t *testing.T) {
	named := selectors(t)
	values := map[string]string{}
	for _, k := range listedKeys(t) {
		values[k.key] = k.value
	}
	names := map[string]bool{}
	for _, s := range base().settings() {
		name := s.name()
		names[name] = true
		if readOtherwise[name] != "" || len(applied(name, values[name]).problems) > 0 {
			continue
		}
		field := fieldOf(name, values[name])
		leaf := field[strings.LastIndexByte(field, '.')+1:]
		read := named[leaf]
		_, without := inert[name]
		switch {
		case without:
			require.False(t, read, "%s is read: it is not inert any more", name)
		default:
			require.True(t, read, "nothing reads %s (%s): act on it, or list it as inert", name, field)
		}
	}
	for name, why := range inert {
		require.True(t, names[name], name)
		require.NotEmpty(t, why, name)
	}
}

var selector = regexp.MustCompile(`\.([A-Z]\w*)`)

// selectors returns the names that the code which acts on settings takes from something.
func selectors(t *testing.T) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	for _, dir := range []string{"..", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if name == "embed" {
				return filepath.SkipDir // it sets what it likes
			}
			own := filepath.Base(filepath.Dir(path)) == "config" &&
				(strings.HasPrefix(name, "settings_") || name == "validate.go" || name == "defaults.go")
			if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || own {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range selector.FindAllSubmatch(text, -1) {
				named[string(m[1])] = true
			}
			return err
		}))
	}
	require.Greater(t, len(named), 1000)
	return named
}

func TestInertSettingsAreTold(t *testing.T) {
	_, warnings := must.Do2(parse("oraclePath=/o\nrequest_stale_latency_check=false\nadmin.httpVersion=20\n" +
		"zookeeper.emulate353TTLNodes=true\n"))(t)
	require.Equal(t, "settings that this version does not act on: emulate353TTLNodes, oraclePath, admin.httpVersion\n",
		warningText(warnings))
	_, warnings = must.Do2(parse("flushDelay=0\nadmin.httpVersion=11\nemulate353TTLNodes=FALSE\n"))(t)
	require.Empty(t, warnings, "the defaults change nothing")
}
