//go:build interop

package interop

import (
	"fmt"
	"maps"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/krb5"
)

// krb5Module is a section of a JAAS file that logs in with a keytab.
func krb5Module(section, keytab, principal string) string {
	return fmt.Sprintf(`%s { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true
  useTicketCache=false keyTab=%q principal=%q; };
`, section, keytab, principal)
}

// startKerberos starts a server of either kind for clients with tickets.
func startKerberos(t *testing.T, r *krb5.Realm, kind cluster.Kind, more map[string]string) *cluster.Node {
	t.Helper()
	file := writeJAAS(t, krb5Module("Server", r.AddService("zookeeper/localhost"), "zookeeper/localhost"))
	settings := map[string]string{
		"authProvider.1":               "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"sessionRequireClientSASLAuth": "true", "superUser": "root@" + krb5.RealmName,
	}
	maps.Copy(settings, more)
	o := cluster.Options{Kind: kind, Settings: settings}
	files := map[string]string{"java.security.auth.login.config": file, "java.security.krb5.conf": r.Conf}
	if kind == cluster.ZooKeeper {
		o.Properties = files
	} else {
		maps.Copy(settings, files)
	}
	return cluster.Start(t, o)
}

// javaByKerberos runs the client in Java with the sections of a JAAS file.
func javaByKerberos(t *testing.T, r *krb5.Realm, classes, addr, jaas string, args ...string) (string, error) {
	t.Helper()
	all := append([]string{"-Xmx128m", "-Djava.security.krb5.conf=" + r.Conf, "-Djava.security.auth.login.config=" + writeJAAS(t, jaas),
		"-cp", secureJars(classes), "Secure", addr}, args...)
	cmd := exec.CommandContext(programContext(t), "java", all...)
	cmd.Env = r.Env("")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestJavaClientByKerberos lets the client in Java in by a keytab and by the tickets of kinit, under the names that
// the settings give it, and not with the ticket of another service.
func TestJavaClientByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	r.AddUsers("bob", "root")
	classes, app := compileJava(t, "Secure"), r.AddService("app/client.host")
	cache := func(user string) string {
		return fmt.Sprintf("Client { com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true doNotPrompt=true ticketCache=%q; };", r.Kinit(user))
	}
	node := startKerberos(t, r, cluster.Warren, nil)
	for want, jaas := range map[string]string{
		"sasl:app/client.host@EXAMPLE.COM\n": krb5Module("Client", app, "app/client.host"),
		"sasl:bob@EXAMPLE.COM\n":             cache("bob"),
		"sasl:root@EXAMPLE.COM super:\n":     cache("root"),
	} {
		out, err := javaByKerberos(t, r, classes, node.Addr(), jaas)
		require.NoError(t, err, out)
		require.Contains(t, out, "WHO ip:127.0.0.1 "+want)
		require.Contains(t, out, "OK acl")
	}
	for name, jaas := range map[string]string{"no section": "Other { };", "password": `Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="bob" password="x"; };`} {
		out, err := javaByKerberos(t, r, classes, node.Addr(), jaas, "refused")
		require.NoError(t, err, "%s: %s", name, out)
		require.Contains(t, out, "OK refused", name)
	}

	mapped := startKerberos(t, r, cluster.Warren, map[string]string{"kerberos.removeRealmFromPrincipal": "true",
		"kerberos.removeHostFromPrincipal": "true", "security.auth_to_local": "RULE:[2:$2](client.*)s/[.].*// DEFAULT"})
	out, err := javaByKerberos(t, r, classes, mapped.Addr(), krb5Module("Client", app, "app/client.host"))
	require.NoError(t, err, out)
	require.Contains(t, out, "WHO ip:127.0.0.1 sasl:client\n")

	wrong := writeJAAS(t, krb5Module("Server", r.AddService("HTTP/localhost"), "HTTP/localhost"))
	other := cluster.Start(t, cluster.Options{Settings: map[string]string{"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"sessionRequireClientSASLAuth": "true", "java.security.auth.login.config": wrong, "java.security.krb5.conf": r.Conf}})
	out, err = javaByKerberos(t, r, classes, other.Addr(), krb5Module("Client", app, "app/client.host"), "refused")
	require.NoError(t, err, out)
	require.Contains(t, out, "OK refused")
	require.Contains(t, other.Log(), "the ticket is for")
}

// TestScriptByKerberos is zkCli.sh with a JAAS file in CLIENT_JVMFLAGS, and our shell with the same.
func TestScriptByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	jaas := writeJAAS(t, krb5Module("Client", r.AddService("app/client.host"), "app/client.host"))
	node := startKerberos(t, r, cluster.Warren, nil)
	cmd := exec.CommandContext(programContext(t), "/usr/share/zookeeper/bin/zkCli.sh", "-server", node.Addr(), "whoami")
	cmd.Env = append(r.Env(""), "CLIENT_JVMFLAGS=-Djava.security.krb5.conf="+r.Conf+" -Djava.security.auth.login.config="+jaas)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "sasl: app/client.host@EXAMPLE.COM")
}
