package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// An import makes what was exported: data, null data, bytes that are no text, ACLs.
func TestExportRoundTrip(t *testing.T) {
	x := quiet(t)
	root := x.tree("/empty ''", "/null", "/text 'a \u00fc \"quoted\"'", "/deep", "/deep/er", "/deep/er/still x")
	x.must("create "+root+"/bytes", "set -b "+root+"/bytes /wD+", "create -e "+root+"/gone",
		"addauth digest bob:secret", "create "+root+"/private p auth::cdrwa",
		"create "+root+"/mixed m world:anyone:r,digest:bob:fyVmFCwVbTJYrznoSu1koqYEYF0=:cdwa")
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.json"), filepath.Join(dir, "second.json")
	x.err.Take()
	x.must("export " + root + " " + first)
	require.Equal(t, "Exported 10 znodes of "+root+" to "+first+", without 1 ephemeral\n",
		lastErr(x, "export "+root+" "+first))

	x.must("import " + first + " " + root + "-copy")
	require.Equal(t, x.must("getAcl "+root+"/mixed"), x.must("getAcl "+root+"-copy/mixed"))
	require.Equal(t, "/wD+\n", x.must("get -b "+root+"-copy/bytes"))
	require.Equal(t, "null\n", x.must("get "+root+"-copy/null"))
	require.Equal(t, "\n", x.must("get "+root+"-copy/empty"))
	x.must("export " + root + "-copy " + second)
	require.Equal(t, strings.Replace(text(t, first), `"root":"`+root+`"`, "", 1),
		strings.Replace(text(t, second), `"root":"`+root+`-copy"`, "", 1))

	// What would act on a terminal is escaped.
	x.must("create " + root + "/terminal \u009b2J")
	require.Contains(t, x.must("export "+root+"/terminal"), `"data":"\u009b2J"`)
	x.must("delete " + root + "/terminal")

	// To standard output, the same.
	require.Equal(t, text(t, first), x.must("export "+root))
	require.NotContains(t, x.must("export -a "+root), `"acl"`)

	// A client that may not see the hashes of an ACL cannot export it.
	stranger := quiet(t)
	require.Contains(t, stranger.fails("export "+root), "Insufficient permission : "+root)
}

func lastErr(x *tried, line string) string {
	x.t.Helper()
	_, errs, code := x.do(line)
	require.Zero(x.t, code, errs)
	return errs
}

func text(t *testing.T, name string) string {
	t.Helper()
	b := must.ReadFile(t, name)
	return string(b)
}

func TestImportIsAllOrNothing(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a 1", "/b 2")
	file := filepath.Join(t.TempDir(), "export.json")
	x.must("export " + root + " " + file)

	require.Equal(t, "Node already exists: "+root+"\n", x.fails("import "+file))
	require.Equal(t, "Node does not exist: /none\n", x.fails("import "+file+" /none/here"))

	x.must("set "+root+"/a changed", "delete "+root+"/b")
	require.Equal(t, "Would import "+file+" to "+root+": 1 created, 2 changed\n", lastErr(x, "import -n -o "+file))
	require.Equal(t, "changed\n", x.must("get "+root+"/a"))
	require.Equal(t, "Imported "+file+" to "+root+": 1 created, 2 changed\n", lastErr(x, "import -o "+file))
	require.Equal(t, "1\n", x.must("get "+root+"/a"))
	require.Equal(t, "2\n", x.must("get "+root+"/b"))

	// An ACL that the server refuses, at the end: nothing is there.
	write := func(znodes string) {
		require.NoError(t,
			os.WriteFile(file, []byte(`{"warrenExport":1,"root":"`+root+`-bad","znodes":[`+znodes+`]}`), 0o600))
	}
	write(`{"path":""},{"path":"/a"},{"path":"/b","acl":[{"scheme":"unheard","id":"of","perms":"r"}]}`)
	require.Contains(t, x.fails("import "+file), "Acl is not valid : "+root+"-bad/b\n  nothing was changed;")
	x.fails("stat " + root + "-bad")

	// An ACL of the import that locks out the import itself; -l sets it last.
	write(`{"path":"","acl":[{"scheme":"world","id":"anyone","perms":"r"}]},{"path":"/a","data":"x"}`)
	require.Contains(t, x.fails("import "+file), "-l sets ACLs last")
	x.must("import -l " + file)
	require.Equal(t, "'world,'anyone\n: r\n", x.must("getAcl "+root+"-bad"))
	require.Equal(t, "x\n", x.must("get "+root+"-bad/a"))

	write(`{"path":"","kind":"container"},{"path":"/t","kind":"ttl","ttl":60000}`)
	x.must("import " + file + " " + root + "-kinds")
}

// What the servers keep for themselves is no part of the tree that goes to other servers, unless it is named.
func TestExportOfEverything(t *testing.T) {
	s := startServer(t.TempDir())
	t.Cleanup(s.Stop)
	x := open(t, Options{Servers: s.Addr().String(), Quiet: true})
	root := x.tree("/a 1")
	require.NotContains(t, x.must("export /"), "zookeeper")
	require.Contains(t, x.must("export /"), `{"path":"`+root+`/a","data":"1"}`)
	require.Contains(t, x.must("export /zookeeper"), `{"path":"/config"`)

	file := filepath.Join(t.TempDir(), "export.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"warrenExport":1,"root":"/","znodes":[{"path":"","data":""},`+
		`{"path":"`+root+`-2"},{"path":"/zookeeper"},{"path":"/zookeeper/config","data":"server.1=a:1:2;3"}]}`),
		0o600))
	require.Contains(t, lastErr(x, "import "+file), " to /: 1 created, 1 changed")
	require.Equal(t, "null\n", x.must("get "+root+"-2"))

	// Below a chroot there is nothing of the servers.
	x.must("create " + root + "/zookeeper 2")
	below := open(t, Options{Servers: s.Addr().String() + root, Quiet: true})
	require.Contains(t, below.must("export /"), `{"path":"/zookeeper","data":"2"}`)
}

// More than one multi: what was done before the failure is said.
func TestImportInParts(t *testing.T) {
	x := quiet(t)
	root := x.tree()
	file := filepath.Join(t.TempDir(), "export.json")
	var b strings.Builder
	b.WriteString(`{"warrenExport":1,"root":"` + root + `/in","znodes":[{"path":""}`)
	for i := range 1500 {
		fmt.Fprintf(&b, `,{"path":"/n%04d"}`, i)
	}
	whole := b.String() + "]}"
	require.NoError(t, os.WriteFile(file,
		[]byte(b.String()+`,{"path":"/z","acl":[{"scheme":"unheard","id":"of","perms":"r"}]}]}`), 0o600))
	errs := x.fails("import " + file)
	require.Contains(t, errs, "1000 of 1502 znodes imported, up to "+root+"/in/n0998; repeat with -o to go on")
	require.Equal(t, "999\n", x.must("getAllChildrenNumber "+root+"/in"))
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	require.Contains(t, lastErr(x, "import -o "+file), "501 created, 1000 changed")
}

func TestReadDocument(t *testing.T) {
	for znodes, want := range map[string]string{
		`{"path":"a"}`:                                    "its path is malformed",
		`{"path":"/a"}`:                                   "the root is not first",
		`{"path":""},{"path":"/a/b"}`:                     "its parent does not come before it",
		`{"path":""},{"path":""}`:                         "twice",
		`{"path":""},{"path":"/"}`:                        "the root is written",
		`{"path":"","data":"","base64":""}`:               "both data and base64",
		`{"path":"","base64":"*"}`:                        "base64: ",
		`{"path":"","acl":[{"perms":"rx"}]}`:              `unknown permission "x"`,
		`{"path":"","kind":"ephemeral"}`:                  `unknown kind "ephemeral"`,
		`{"path":"","kind":"ttl"}`:                        "ttl 0 is not between",
		`{"path":"","ttl":1}`:                             "a ttl without",
		`{"path":"","colour":"red"}`:                      `unknown field "colour"`,
		`{"path":""}]} x`:                                 "something follows its end",
		`{"path":""`:                                      "offset ",
		`{"path":""}],"znodes":[{"path":"","data":12}]} `: "cannot unmarshal",
	} {
		_, err := readDocument(strings.NewReader(`{"warrenExport":1,"root":"/r","znodes":[` + znodes + `]}`))
		require.ErrorContains(t, err, want, znodes)
	}
	require.ErrorContains(t, must.Err(readDocument(strings.NewReader(`{"warrenExport":2,"root":"/"}`))), "version 2")
	_, err := readDocument(strings.NewReader(`{"warrenExport":1,"root":"r"}`))
	require.ErrorContains(t, err, "root of the export")
}

// An export without ACLs opens no znode that has one.
func TestImportWithoutACLsKeepsThem(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a 1")
	file := filepath.Join(t.TempDir(), "export.json")
	x.must("export -a "+root+" "+file, "setAcl "+root+"/a world:anyone:rwa", "set "+root+"/a 2")
	for _, flags := range []string{"-o", "-n -o"} {
		require.Equal(t, "the export has no ACLs, and "+root+"/a has one\n", x.fails("import "+flags+" "+file))
	}
	require.Equal(t, "2\n", x.must("get "+root+"/a"))
	x.must("import -a -o " + file)
	require.Equal(t, "1\n", x.must("get "+root+"/a"))
	require.Equal(t, "'world,'anyone\n: rwa\n", x.must("getAcl "+root+"/a"))
}
