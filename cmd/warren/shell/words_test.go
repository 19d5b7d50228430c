package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/test/must"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                       nil,
		" \t ":                   nil,
		"ls /":                   {"ls", "/"},
		"  get   -s\t/a  ":       {"get", "-s", "/a"},
		"create /a 'b  c' \"d\"": {"create", "/a", "b  c", "d"},
		`set /a "it's"`:          {"set", "/a", "it's"},
		`set /a 'say "x"'`:       {"set", "/a", `say "x"`},
		`create /a ""`:           {"create", "/a", ""},
		`get "/a`:                {"get", "/a"},
		`a'b c'd`:                {"a'b", "c'd"},
		`'a'b`:                   {"a", "b"},
		"get /\u00fc":            {"get", "/\u00fc"},
	} {
		require.Equal(t, want, splitWords(line), "%q", line)
	}
}

func FuzzWords(f *testing.F) {
	for _, line := range []string{"", "a b", `'a' "b`, "x'y", "\t\"\"'"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		total := 0
		for _, w := range splitWords(line) {
			require.Contains(t, line, w)
			total += len(w)
		}
		require.LessOrEqual(t, total, len(line))
		if !strings.ContainsAny(line, `"'`) {
			require.Equal(t,
				len(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(blanks, r) })),
				len(splitWords(line)))
		}
	})
}

func TestFlags(t *testing.T) {
	set := flagSet("s v: n: file: add:")
	for line, want := range map[string]arguments{
		"/a":               {map[string]string{}, []string{"/a"}},
		"-s /a -v 3":       {map[string]string{"s": "", "v": "3"}, []string{"/a"}},
		"/a -v -3":         {map[string]string{"v": "-3"}, []string{"/a"}},
		"-sv3 /a":          {map[string]string{"s": "", "v": "3"}, []string{"/a"}},
		"-n7 -- -s":        {map[string]string{"n": "7"}, []string{"-s"}},
		"- -s":             {map[string]string{"s": ""}, []string{"-"}},
		"-file x -add y=1": {map[string]string{"file": "x", "add": "y=1"}, nil},
	} {
		got, err := set.parse(splitWords(line))
		require.NoError(t, err, line)
		require.Equal(t, want, *got, line)
	}
	for line, want := range map[string]string{
		"-x /a":  "Unrecognized option: -x",
		"-sx /a": "Unrecognized option: -sx",
		"--s":    "Unrecognized option: --s",
		"/a -v":  "Missing argument for option: v",
		"-v -s":  "Missing argument for option: v",
	} {
		require.EqualError(t, must.Err(set.parse(splitWords(line))), want, line)
	}
}

// The texts are those of Java's PathUtils.
func TestCheckPath(t *testing.T) {
	for path, want := range map[string]string{
		"":              "Path length must be > 0",
		"a":             "Path must start with / character",
		"/a/":           "Path must not end with / character",
		"/a//b":         `Invalid path string "/a//b" caused by empty node name specified @3`,
		"/a/./b":        `Invalid path string "/a/./b" caused by relative paths not allowed @3`,
		"/a/..":         `Invalid path string "/a/.." caused by relative paths not allowed @4`,
		"/a\x00":        "Invalid path string \"/a\x00\" caused by null character not allowed @2",
		"/a\x01b":       "Invalid path string \"/a\x01b\" caused by invalid character @2",
		"/\u00fc\u0085": "Invalid path string \"/\u00fc\u0085\" caused by invalid character @2",
	} {
		require.EqualError(t, checkPath(path, false), want, "%q", path)
	}
	for _, path := range []string{"/", "/a", "/a.b", "/...", "/a/..b", "/\u00fc/\u4e16"} {
		require.NoError(t, checkPath(path, false), path)
	}
	require.NoError(t, checkPath("/a/", true))
}

func TestHexDump(t *testing.T) {
	require.Equal(t, strings.Join([]string{
		"         +-------------------------------------------------+",
		"         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |",
		"+--------+-------------------------------------------------+----------------+",
		"|00000000| 61 20 62 20 63                                  |a b c           |",
		"+--------+-------------------------------------------------+----------------+"}, "\n"),
		string(hexDump([]byte("a b c"))))
	require.Contains(t, string(hexDump(make([]byte, 17))),
		"|00000010| 00                                              |.               |")
	require.Empty(t, hexDump(nil))
}

func TestClientConfig(t *testing.T) {
	require.Equal(t, "100000000 0.0.0.0:2181,h:2182,e:2184,[::1]:2183",
		clientConfig("server.2=b:2888:3888:participant;h:2182\n"+
			"server.1=a:2888:3888:participant;2181\nserver.10=c:1:2;[::1]:2183\nserver.3=d:1:2\n"+
			"server.4=e:1:2;e:2184;e:2284\nserver.5=f:1:2;;f:2285\nversion=100000000"), "the TLS ports are not told")
	require.Equal(t, " ", clientConfig(""))
}

func TestParseACL(t *testing.T) {
	acl, err := parseACL("world:anyone:cdrwa,ip:127.0.0.1:r,x509:CN=a:b:,")
	require.Nil(t, err)
	require.Equal(t, []znodetext.ACL{{Scheme: "world", ID: "anyone", Perms: "cdrwa"},
		{Scheme: "ip", ID: "127.0.0.1", Perms: "r"}, {Scheme: "x509", ID: "CN=a:b"}}, newACLEntries(acl))
	for text, want := range map[string]string{
		"":                             " does not have the form scheme:id:perm\n",
		",":                            "",
		"world:anyone":                 "world:anyone does not have the form scheme:id:perm\n",
		"world:anyone:rx":              "Unknown perm type: x\n",
		"world:anyone:r,,world:any:r":  " does not have the form scheme:id:perm\n",
		"world:anyone:r,world:anyone:": "none",
	} {
		_, err := parseACL(text)
		if want == "none" {
			require.Nil(t, err)
			continue
		}
		require.NotNil(t, err, text)
		require.Equal(t, want, err.text)
	}
}

func FuzzACL(f *testing.F) {
	f.Add("world:anyone:cdrwa,ip:127.0.0.1:r")
	f.Add("digest:bob:x=:")
	f.Fuzz(func(t *testing.T, text string) {
		acl, bad := parseACL(text)
		if bad != nil {
			return
		}
		var parts []string
		for _, e := range newACLEntries(acl) {
			parts = append(parts, e.Scheme+":"+e.ID+":"+e.Perms)
		}
		again, bad := parseACL(strings.Join(parts, ","))
		require.Nil(t, bad)
		require.Equal(t, acl, again)
	})
}

func TestClientConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	read := func(text string) (*TLSFiles, error) {
		require.NoError(t, os.WriteFile("client.cfg", []byte(text), 0o600))
		settings, err := ReadSettings("client.cfg")
		require.NoError(t, err, text)
		return TLSOf(settings)
	}
	f := must.Do(read("# TLS\nzookeeper.client.secure = true\n" +
		"zookeeper.ssl.keyStore.location=/k.pem\nzookeeper.ssl.trustStore.location=/t.pem\n" +
		"zookeeper.ssl.hostnameVerification=true\n" +
		"zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"))(t)
	require.Equal(t, &TLSFiles{Cert: "/k.pem", CertBy: "client.cfg:3: zookeeper.ssl.keyStore.location",
		CA: "/t.pem", CABy: "client.cfg:4: zookeeper.ssl.trustStore.location"}, f)
	f = must.Do(read("\ufeffzookeeper.client.secure: true\nzookeeper.ssl.keyStore.location /a\\ b.pem\n" +
		"zookeeper.ssl.trustStore.location=C:\\\\ca\\\n   .pem\nwithout\n"))(t)
	require.Equal(t, "/a b.pem", f.Cert)
	require.Equal(t, `C:\ca.pem`, f.CA)
	const plain = "zookeeper.ssl.keyStore.location=/k.p12\nzookeeper.ssl.keyStore.password=x\n" +
		"zookeeper.ssl.hostnameVerification=false\n"
	f = must.Do(read(plain))(t)
	require.Nil(t, f)
	f = must.Do(read("zookeeper.client.secure=true\nzookeeper.client.secure=false\n"))(t) // the last one counts
	require.Nil(t, f)
	_, err := read("zookeeper.client.secure=true\n" + plain)
	require.ErrorContains(t, err, "client.cfg:4: zookeeper.ssl.hostnameVerification: cannot be switched off")
}

func TestLoginOf(t *testing.T) {
	java := func(key, value string) Setting { return Setting{key, value, "CLIENT_JVMFLAGS"} }
	const user, principal = "zookeeper.sasl.client.username", "zookeeper.server.principal"
	for want, settings := range map[string][]Setting{
		"":           {java("zookeeper.sasl.client", "true")},
		"zk/_HOST":   {java(user, "zk")},
		"zk2/_HOST":  {java(user, "zk"), {user, "zk2", "client.cfg:1"}},
		"zk/a@REALM": {java(principal, "zk/a@REALM"), {user, "zk2", "client.cfg:1"}},
	} {
		require.Equal(t, want, LoginOf(settings).Server, settings)
	}
	const file = "java.security.auth.login.config"
	require.Equal(t, "/jaas", LoginOf([]Setting{java(file, "/jaas")}).File)
	require.Empty(t, LoginOf([]Setting{java(file, "/jaas"), java("zookeeper.sasl.client", "false")}).File)
}

func TestShortServers(t *testing.T) {
	for connect, want := range map[string]string{"a:2181": "a:2181", "a:2181,b:2181,c:2181": "a:2181+2",
		"a:2181/app": "a:2181/app", "a,b/app/x": "a+1/app/x",
		"dns-srv://zk.example.com/app": "dns-srv://zk.example.com/app"} {
		require.Equal(t, want, shortServers(connect), connect)
	}
}
