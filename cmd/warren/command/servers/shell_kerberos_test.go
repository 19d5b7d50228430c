package servers

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/krb5"
)

// The shell authenticates by the tickets of kinit, and as a JAAS file says, to servers whose principals the settings
// name.
func TestShellByKerberos(t *testing.T) {
	const service, realm = "zookeeper/127.0.0.1@EXAMPLE.COM", "EXAMPLE.COM"
	forge, dir := krb5.NewForge(t), t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	const module = " { com.sun.security.auth.module.Krb5LoginModule required "
	conf := forge.Config(realm)
	jaas := file("server.conf", "Server"+module+`useKeyTab=true storeKey=true keyTab="`+
		forge.Keytab("zk", "secret", service)+`" principal="`+service+`"; };`)
	addr := startShellServer(t, func(cfg *config.Config) {
		cfg.SASL.LoginConfig, cfg.SASL.KerberosConfig = jaas, conf
		cfg.SessionRequireClientSASLAuth = true
		cfg.AuthProviders = []config.AuthProvider{{Suffix: "1", Scheme: "sasl"}}
	})
	t.Setenv("KRB5_CONFIG", conf)
	t.Setenv("KRB5CCNAME", "FILE:"+forge.Cache("bob", "bob@"+realm, "secret", time.Now().Add(time.Hour), service))
	eve := forge.Cache("eve", "eve@"+realm, "secret", time.Now().Add(time.Hour), service)
	clients := file("client.conf", "Client"+module+`useTicketCache=true ticketCache="`+eve+`"; };`)
	for user, args := range map[string][]string{
		"bob@" + realm: {"--kerberos"},
		"eve@" + realm: {"--jaas", clients, "--server-principal", "zookeeper/_HOST@" + realm},
	} {
		out := runs(t, append(append([]string{"shell", "-s", addr}, args...), "whoami")...)
		require.Contains(t, out, "sasl: "+user+"\n")
	}
	settings := file("client.cfg",
		"java.security.auth.login.config="+clients+"\nzookeeper.sasl.client.username=zookeeper\n"+
			"zookeeper.server.realm="+realm+"\njava.security.krb5.conf="+conf+"\n")
	t.Setenv("KRB5_CONFIG", "/none")
	out := runs(t, "shell", "-s", addr, "-client-configuration", settings, "whoami")
	require.Contains(t, out, "sasl: eve@"+realm+"\n")

	t.Setenv("KRB5_CONFIG", conf)
	for want, args := range map[string][]string{
		"run kinit": {"--kerberos", "--server-principal", "zookeeper/other"}, // no ticket for that, and no KDC
	} {
		fails(t, 1, want, append(append([]string{"shell", "-s", addr, "--connect-wait", "1s"}, args...), "ls", "/")...)
	}
	for want, args := range map[string][]string{
		"not a principal":   {"--kerberos", "--server-principal", "a@"},
		"nothing to log in": {"--jaas", file("none.conf", "Client"+module+"debug=true; };")},
		"keytab: /none/k: there is no such file": {"--jaas",
			file("keys.conf", "Client"+module+`useKeyTab=true keyTab="/none/k" principal="a@B"; };`)},
	} {
		fails(t, 2, want, append(append([]string{"shell", "-s", addr}, args...), "ls", "/")...)
	}
}
