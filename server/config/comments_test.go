package config

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// comments are those of the fields of Config, in the form of Go: each begins with the name of its field, and ends
// with its key and its default. entry makes of them what an operator reads, who knows no names of Go.
type comments struct {
	t      *testing.T
	own    map[string]string       // by the dotted name of the field
	parent map[string]string       // of the struct that the field is in
	typ    map[string]reflect.Type // of the field
	keys   map[string]string       // of fields
}

// row is one of docs/CONFIGURATION.md.
type row struct{ value, unit, restart, meaning string }

// topics are structs whose comment is said by the title of their table, or by the names of their keys.
var topics = []string{"Admin", "Metrics", "Audit", "Log", "Trace", "Process", "TLS", "QuorumTLS", "SASL", "QuorumAuth",
	"RequestThrottle"}

func readComments(t *testing.T, c *Config, values map[string]string) *comments {
	t.Helper()
	written := map[string]string{} // by type.field
	names := must.Do(filepath.Glob("*.go"))(t)
	for _, name := range names {
		file := must.Do(goparser.ParseFile(token.NewFileSet(), name, nil, goparser.ParseComments))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, id := range f.Names {
						written[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	d := &comments{t: t, own: map[string]string{}, parent: map[string]string{}, typ: map[string]reflect.Type{},
		keys: map[string]string{}}
	var walk func(name, own, parent string, typ reflect.Type)
	walk = func(name, own, parent string, typ reflect.Type) {
		if typ.Kind() != reflect.Struct {
			d.own[name], d.parent[name], d.typ[name] = own, parent, typ
			return
		}
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				walk(strings.TrimPrefix(name+"."+f.Name, "."), written[typ.Name()+"."+f.Name], own, f.Type)
			}
		}
	}
	walk("", "", "", reflect.TypeFor[Config]())
	for _, s := range c.settings() {
		if field := fieldOf(s.name(), values[s.name()]); field != "" {
			d.keys[field] = s.name()
		}
	}
	return d
}

// sentence ends one.
var sentence = regexp.MustCompile(`\. (?:[A-Z"]|$)`)

func sentences(text string) (all []string) {
	for text != "" {
		end := sentence.FindStringIndex(text + " ")
		if end == nil {
			return append(all, text)
		}
		all = append(all, text[:end[0]])
		text = strings.TrimSpace(text[min(end[0]+1, len(text)):])
	}
	return all
}

// keyNote is the part of a comment that names the key, up to what else it says.
var keyNote = regexp.MustCompile(`^Keys? \S+?(?: \([^)]*\))?(?:, [^;]*)?(?:; |$)`)

// row makes the row of a setting. The meaning is empty if no field has the setting.
func (d *comments) row(s setting, sample string) (e row) {
	e.restart, e.value = "yes", "none"
	if s.live() != "" {
		e.restart = "no"
	}
	if s.show != nil {
		if shown := s.show(); shown != "" && shown != "-1" && shown != "-1ns" && shown != "0s" {
			e.value = "`" + strings.TrimSuffix(strings.TrimSuffix(shown, "0s"), "0m") + "`"
		}
	}
	field := fieldOf(s.name(), sample)
	if field == "" {
		return e
	}
	e.unit = d.unit(field, s.name(), sample)
	var said []string
	for i, text := range sentences(d.own[field]) {
		if i == 0 {
			text = d.withoutName(field, text)
		}
		if strings.HasPrefix(text, "Key ") || strings.HasPrefix(text, "Keys ") {
			text = keyNote.ReplaceAllString(text, "")
		}
		text = strings.Replace(text, "Default ", "default ", 1)
		before, value, has := strings.Cut(text, "default ")
		if has && (before == "" || strings.HasSuffix(before, "; ")) {
			e.value, text = value, strings.TrimSuffix(before, "; ")
		} else if strings.HasPrefix(text, "required ") {
			e.value, text = text, ""
		}
		if text != "" {
			said = append(said, upper(text)+".")
		}
	}
	parent := d.parent[field]
	name, _, _ := strings.Cut(parent, " ")
	if parent != "" && !slices.Contains(topics, name) {
		first := d.withoutName(strings.TrimSuffix(field, "."+lastOf(field)), sentences(parent)[0])
		said[0] = upper(first) + ": " + lower(said[0])
	}
	e.meaning, e.value = d.withKeys(field, strings.Join(said, " ")), d.withKeys(field, e.value)
	return e
}

// unit is that of the number in the file.
func (d *comments) unit(field, key, sample string) string {
	name := lastOf(field)
	switch {
	case d.typ[field] == reflect.TypeFor[time.Duration]():
		units := map[time.Duration]string{time.Millisecond: "ms", time.Second: "s", time.Hour: "h"}
		n, err := parseNumber(sample)
		require.NoError(d.t, err, key)
		set := reflect.ValueOf(applied(key, sample).c).Elem()
		for part := range strings.SplitSeq(field, ".") {
			set = set.FieldByName(part)
		}
		unit := units[time.Duration(set.Int()/n)]
		require.NotEmpty(d.t, unit, key)
		return unit
	case strings.HasSuffix(name, "KB"):
		return "KiB"
	case regexp.MustCompile(`\bbytes\b`).MatchString(d.own[field]) && d.typ[field].Kind() != reflect.Bool:
		return "bytes"
	case strings.Contains(d.own[field], "is how many ticks"):
		return "ticks"
	case strings.Contains(d.own[field], "in percent"):
		return "percent"
	}
	return ""
}

// withoutName turns the first sentence of a comment, "SnapCount is the number", into "the number".
func (d *comments) withoutName(field, text string) string {
	rest, found := strings.CutPrefix(text, lastOf(field)+" ")
	require.True(d.t, found, "%s: %s", field, text)
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// goName are the words that may be names of fields.
var goName = regexp.MustCompile(`"?\b[A-Z][A-Za-z0-9]*\b"?`)

// withKeys writes the keys of settings in place of the names of their fields.
func (d *comments) withKeys(field, text string) string {
	for _, none := range []string{", PortUnset for none", ", or PortUnset", "; NoServerID if none is given"} {
		text = strings.ReplaceAll(text, none, "")
	}
	siblings := strings.TrimSuffix(field, lastOf(field))
	var b strings.Builder
	at := 0
	for _, m := range goName.FindAllStringIndex(text, -1) {
		word := text[m[0]:m[1]]
		key := ""
		if begins := m[0] == 0 || strings.HasSuffix(text[:m[0]], ". "); !begins || isCamel(word) {
			key = d.keys[siblings+word]
		}
		for other := range d.keys {
			if key == "" && isCamel(word) && lastOf(other) == word {
				key = d.keys[other]
			}
		}
		if key != "" {
			b.WriteString(text[at:m[0]] + "`" + key + "`")
			at = m[1]
		}
	}
	return b.String() + text[at:]
}

// isCamel reports whether a word is like no word of a text.
func isCamel(word string) bool {
	return strings.IndexFunc(word[1:], unicode.IsUpper) >= 0 && strings.ToUpper(word) != word
}

func lastOf(field string) string { return field[strings.LastIndexByte(field, '.')+1:] }

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func lower(text string) string {
	if len(text) > 1 && unicode.IsUpper(rune(text[1])) {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// No name of Go is left in what operators read.
func TestReferenceHasNoNamesOfGo(t *testing.T) {
	c := base()
	values := map[string]string{}
	for _, k := range listedKeys(t) {
		values[k.key] = k.value
	}
	d := readComments(t, c, values)
	names := map[string]bool{"PortUnset": true, "NoServerID": true}
	for field := range d.own {
		if name := lastOf(field); isCamel(name) {
			names[name] = true
		}
	}
	quoted := regexp.MustCompile("`[^`]*`")
	for _, s := range c.settings() {
		e := d.row(s, values[s.name()])
		for _, word := range goName.FindAllString(quoted.ReplaceAllString(e.meaning+" "+e.value, ""), -1) {
			require.False(t, names[word], "%s: %s: %s", s.name(), word, e.meaning)
		}
	}
	require.Greater(t, len(names), 100)
}
