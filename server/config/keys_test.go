package config

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// listedKey is one line of testdata/keys.txt.
type listedKey struct{ class, key, value string }

func listedKeys(t testing.TB) []listedKey {
	f := must.Do(os.Open("testdata/keys.txt"))(t)
	defer f.Close()
	var keys []listedKey
	for scan := bufio.NewScanner(f); scan.Scan(); {
		fields := strings.Fields(scan.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		require.Len(t, fields, 3, scan.Text())
		keys = append(keys, listedKey{fields[0], fields[1], fields[2]})
	}
	return keys
}

// applied loads one key alone, without the rules between settings, and returns what that did.
func applied(key, value string) *loader {
	l := newLoader(base())
	l.readFile([]byte(key+"="+value+"\n"), "zoo.cfg")
	for _, s := range l.c.settings() {
		l.applySetting(s)
	}
	l.applyRest()
	return l
}

func TestEveryKeyIsHandled(t *testing.T) {
	fresh := base()
	for _, k := range listedKeys(t) {
		for _, prefix := range []string{"", "zookeeper."} {
			t.Run(prefix+k.key, func(t *testing.T) {
				l := applied(prefix+k.key, k.value)
				for _, w := range l.warnings {
					require.NotContains(t, w.Text, "not known")
				}
				c := *l.c
				c.File, c.Text, c.origins, c.values = "", nil, fresh.origins, fresh.values
				changed := !reflect.DeepEqual(&c, fresh)
				switch k.class {
				case "set":
					require.Empty(t, l.problems)
					require.True(t, changed, "no field changed")
				case "same":
					require.Empty(t, l.problems)
					require.False(t, changed)
				case "free":
					require.Empty(t, l.problems)
					require.True(t, changed || len(l.weights) > 0, "no field changed")
				case "none":
					require.Empty(t, l.problems)
					require.False(t, changed)
					require.Contains(t, l.warnings[0].Text, "no effect here: "+prefix+k.key)
				case "bad":
					require.Len(t, l.problems, 1)
					require.False(t, changed)
				default:
					t.Fatalf("class %q", k.class)
				}
			})
		}
	}
}

func TestEverySettingIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, k := range listedKeys(t) {
		require.False(t, listed[k.key], "%s is listed twice", k.key)
		listed[k.key] = true
	}
	bound := map[string]bool{}
	for _, s := range base().settings() {
		for _, key := range s.keys {
			require.True(t, listed[key], "%s is not in testdata/keys.txt", key)
			require.False(t, bound[key], "%s is bound twice", key)
			require.False(t,
				hasNoEffect(key) && !strings.HasPrefix(key, "kerberos.") && !strings.HasPrefix(key, "java."),
				"%s has a field and is also said to have no effect", key)
			bound[key] = true
		}
	}
}

// Every field can be set: a field without a key would be a promise that is not kept.
func TestEveryFieldHasAKey(t *testing.T) {
	reached := map[string]bool{}
	fresh := fields(base())
	for _, k := range listedKeys(t) {
		for name, v := range fields(applied(k.key, k.value).c) {
			if v != fresh[name] {
				reached[name] = true
			}
		}
	}
	for name := range fresh {
		switch name {
		case "File", "Text", "Quorum.ConfigVersion":
			continue // not settings: the file itself, and a part of its name
		}
		require.True(t, reached[name], "no key of testdata/keys.txt changes %s", name)
	}
}

// fields prints every exported leaf of a Config by its dotted name.
func fields(c *Config) map[string]string {
	out := map[string]string{}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		if v.Kind() != reflect.Struct {
			out[name] = fmt.Sprintf("%v", v.Interface())
			if s, ok := v.Interface().(Secret); ok {
				out[name] = string(s)
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				walk(strings.TrimPrefix(name+"."+f.Name, "."), v.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(*c))
	return out
}

// The embedded areas are only useful as shorthand while no two of them share a field name.
func TestFieldNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		area := typ.Field(i)
		if !area.Anonymous {
			continue
		}
		for j := range area.Type.NumField() {
			name := area.Type.Field(j).Name
			require.Empty(t, seen[name], "%s.%s", area.Name, name)
			seen[name] = area.Name
		}
	}
	require.NotEmpty(t, seen)
}

// Every bound that a parser enforces, Validate enforces on the field.
func TestDefaultsAreValid(t *testing.T) {
	require.NoError(t, Default().Validate())
	c := base()
	c.resolve()
	for _, s := range c.settings() {
		if s.check != nil {
			require.NoError(t, s.check(), s.name())
		}
	}
}
