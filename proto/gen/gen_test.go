package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// TestOutputIsUpToDate fails when a definition changed and the generator was not run.
func TestOutputIsUpToDate(t *testing.T) {
	files, err := Generate("..")
	require.NoError(t, err)
	require.Len(t, files, 4)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is stale: go run ./proto/gen", name)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	once, err := Generate("..")
	require.NoError(t, err)
	twice, err := Generate("..")
	require.NoError(t, err)
	require.Equal(t, once, twice)
}

func TestGenerateNamesTheFile(t *testing.T) {
	valid := map[string]string{
		"zookeeper.def": "// R is a record.\nrecord R {\n  int a // a field\n}\n",
		"ops.def":       "1 create W // creates\n",
		"errors.def":    "0 OK no // success\n",
	}
	for broken := range valid {
		dir := t.TempDir()
		for name, text := range valid {
			if name == broken {
				text = "nonsense\n"
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		_, err := Generate(dir)
		require.ErrorContains(t, err, broken+": line 1: ")
	}
	_, err := Generate(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestParseRecords(t *testing.T) {
	records, err := parseRecords(`# dropped

// A is first.
// It has two lines.
record A {
  int count      // how many
  long at Zxid   // when
}

// B nests.
record B {
  A one              // a record
  vector<A> many     // a vector
  vector<buffer> raw // of buffers
  bool ok            // a flag
}
`)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.Equal(t, []string{"A is first.", "It has two lines."}, records[0].doc)
	require.Equal(t, field{kind: "long", name: "at", goType: "Zxid", doc: "when"}, records[0].fields[1])
	b := records[1]
	require.Equal(t, field{kind: "record", ref: "A", name: "one", doc: "a record"}, b.fields[0])
	require.Equal(t, field{kind: "record", ref: "A"}, *b.fields[1].elem)
	require.Equal(t, "[]A", b.fields[1].goTypeName())
	require.Equal(t, "[][]byte", b.fields[2].goTypeName())

	byName := map[string]record{"A": records[0], "B": b}
	sizes := []int{12, 4, 4, 1}
	for i, f := range b.fields {
		require.Equal(t, sizes[i], f.minSize(byName), f.name)
	}
}

func TestParseRecordsErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no record", "int a // x", "line 1: want record Name {"},
		{"no brace", "// D.\nrecord A", "line 2: want record Name {"},
		{"no doc", "record A {", "line 1: record A has no doc"},
		{"doc of the one before", "// D.\nrecord A {\n}\nrecord B {\n}", "line 4: record B has no doc"},
		{"twice", "// D.\nrecord A {\n}\n// D.\nrecord A {\n}", "line 5: record A is defined twice"},
		{"field without doc", "// D.\nrecord A {\n  int a\n}", "line 3: field has no doc"},
		{"field without name", "// D.\nrecord A {\n  int // x\n}", "line 3: want type name [GoType]"},
		{"too many words", "// D.\nrecord A {\n  int a B c // x\n}", "line 3: want type name [GoType]"},
		{"unknown type", "// D.\nrecord A {\n  float a // x\n}", "line 3: type float is not defined above"},
		{"unknown element", "// D.\nrecord A {\n  vector<B> a // x\n}", "line 3: type B is not defined above"},
		{"itself", "// D.\nrecord A {\n  vector<A> a // x\n}", "line 3: type A is not defined above"},
		{"open", "// D.\nrecord A {\n  int a // x\n", "record A does not end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseRecords(tt.text)
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestParseRows(t *testing.T) {
	rows, err := parseRows("# head\n\n-11 closeSession W // ends // the session\n 0 OK no // success\n")
	require.NoError(t, err)
	require.Equal(t, []row{{-11, "closeSession", "W", "ends // the session"}, {0, "OK", "no", "success"}}, rows)
}

func TestParseRowsErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no meaning", "1 a W", "line 1: want code name kind // meaning"},
		{"no kind", "1 a // x", "line 1: want code name kind // meaning"},
		{"code", "x a W // x", `line 1: strconv.Atoi: parsing "x": invalid syntax`},
		{"code twice", "1 a W // x\n1 b W // x", "line 2: b or its code is defined twice"},
		{"name twice", "1 a W // x\n2 a W // x", "line 2: a or its code is defined twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseRows(tt.text)
			require.EqualError(t, err, tt.want)
		})
	}
}
