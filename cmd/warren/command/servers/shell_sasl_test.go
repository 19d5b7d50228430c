package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// The shell authenticates by DIGEST-MD5 with the section of a JAAS file that a flag, the client configuration or
// CLIENT_JVMFLAGS name, in this order.
func TestShellBySASL(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	const module = "{ org.apache.zookeeper.server.auth.DigestLoginModule required "
	users := file("server.conf", "Server "+module+`user_bob="bobsecret" user_eve="evesecret"; };`)
	addr := startShellServer(t, func(cfg *config.Config) {
		cfg.SASL.LoginConfig = users
		cfg.SessionRequireClientSASLAuth = true
		cfg.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "sasl"}}
	})
	bob := file("bob.conf", "Client "+module+`username="bob" password="bobsecret"; };`+
		"\nOther "+module+`username="eve" password="evesecret"; };`)
	wrong := file("wrong.conf", "Client "+module+`username="bob" password="x"; };`)
	settings := file("client.cfg", "java.security.auth.login.config="+bob+"\nzookeeper.sasl.clientconfig=Other\n")

	const jaas = "-Xmx1g -Djava.security.auth.login.config="
	for name, tt := range map[string]struct {
		client, all string // flags for Java
		args        []string
		user        string
	}{
		"flag":                      {"", "", []string{"--jaas", bob}, "bob"},
		"flag and section":          {"", "", []string{"--jaas", bob, "--jaas-section=Other"}, "eve"},
		"client configuration":      {"", "", []string{"-client-configuration", settings}, "eve"},
		"CLIENT_JVMFLAGS":           {jaas + bob, "", nil, "bob"},
		"JVMFLAGS":                  {jaas + wrong, jaas + bob, nil, "bob"},
		"flag over CLIENT_JVMFLAGS": {jaas + wrong, "", []string{"--jaas", bob}, "bob"},
		"configuration over environment": {jaas + wrong, jaas + wrong,
			[]string{"-client-configuration", settings}, "eve"},
	} {
		t.Setenv("CLIENT_JVMFLAGS", tt.client)
		t.Setenv("JVMFLAGS", tt.all)
		code, out, errs := run(append(append([]string{"shell", "-s", addr}, tt.args...), "whoami")...)
		require.Equal(t, 0, code, "%s: %s", name, errs)
		require.Contains(t, out, "sasl: "+tt.user+"\n", name)
	}
	t.Setenv("CLIENT_JVMFLAGS", "")
	t.Setenv("JVMFLAGS", jaas+users) // a server's, which says nothing of clients
	must.Do((&shellOptions{output: "text", connectWait: 1}).options(newShellCommand()))(t)
	t.Setenv("JVMFLAGS", "")
	for name, args := range map[string][]string{"wrong password": {"--jaas", wrong}, "no SASL": nil} {
		code, out, errs := run(append(append([]string{"shell", "-s", addr}, args...), "ls", "/")...)
		require.Equal(t, 1, code, name)
		require.Empty(t, out, name)
		require.NotContains(t, errs, "bobsecret")
	}
	for want, args := range map[string][]string{
		"no such file":         {"--jaas", filepath.Join(dir, "none")},
		"line 1: expected":     {"--jaas", file("bad.conf", "Client")},
		"JAAS section Missing": {"--jaas", bob, "--jaas-section", "Missing"},
		"no option username":   {"--jaas", users, "--jaas-section", "Server"},
	} {
		code, _, errs := run(append(append([]string{"shell", "-s", addr}, args...), "ls", "/")...)
		require.Equal(t, 2, code, want)
		require.Contains(t, errs, want)
	}
}
