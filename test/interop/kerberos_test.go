//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// krb5Module is a section of a JAAS file that logs in with a keytab.
func krb5Module(section, keytab, principal string) string {
	return fmt.Sprintf(
		`%s { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true
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
func javaByKerberos(t *testing.T, r *krb5.Realm, classes, addr, jaas string, args ...string) string {
	t.Helper()
	all := append([]string{"-Xmx128m", "-Djava.security.krb5.conf=" + r.Conf,
		"-Djava.security.auth.login.config=" + writeJAAS(t, jaas), "-cp", secureJars(classes), "Secure", addr},
		args...)
	cmd := exec.CommandContext(programContext(t), "java", all...)
	cmd.Env = r.Env("")
	return string(must.Output(t, cmd))
}

// TestJavaClientByKerberos lets the client in Java in by a keytab and by the tickets of kinit, under the names that
// the settings give it, and not with the ticket of another service.
func TestJavaClientByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	r.AddUsers("bob", "root")
	classes, app := compileJava(t, "Secure"), r.AddService("app/client.host")
	cache := func(user string) string {
		return fmt.Sprintf("Client { com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true "+
			"doNotPrompt=true ticketCache=%q; };", r.Kinit(user))
	}
	node := startKerberos(t, r, cluster.Warren, nil)
	for want, jaas := range map[string]string{
		"sasl:app/client.host@EXAMPLE.COM\n": krb5Module("Client", app, "app/client.host"),
		"sasl:bob@EXAMPLE.COM\n":             cache("bob"),
		"sasl:root@EXAMPLE.COM super:\n":     cache("root"),
	} {
		out := javaByKerberos(t, r, classes, node.Addr(), jaas)
		require.Contains(t, out, "WHO ip:127.0.0.1 "+want)
		require.Contains(t, out, "OK acl")
	}
	for name, jaas := range map[string]string{
		"no section": "Other { };", "password": `Client { org.apache.zookeeper.server.auth.DigestLoginModule ` +
			`required username="bob" password="x"; };`,
	} {
		require.Contains(t, javaByKerberos(t, r, classes, node.Addr(), jaas, "refused"), "OK refused", name)
	}

	mapped := startKerberos(t, r, cluster.Warren, map[string]string{"kerberos.removeRealmFromPrincipal": "true",
		"kerberos.removeHostFromPrincipal": "true",
		"security.auth_to_local":           "RULE:[2:$2](client.*)s/[.].*// DEFAULT"})
	out := javaByKerberos(t, r, classes, mapped.Addr(), krb5Module("Client", app, "app/client.host"))
	require.Contains(t, out, "WHO ip:127.0.0.1 sasl:client\n")

	wrong := writeJAAS(t, krb5Module("Server", r.AddService("HTTP/localhost"), "HTTP/localhost"))
	other := cluster.Start(t, cluster.Options{Settings: map[string]string{
		"authProvider.1":               "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"sessionRequireClientSASLAuth": "true", "java.security.auth.login.config": wrong,
		"java.security.krb5.conf": r.Conf}})
	out = javaByKerberos(t, r, classes, other.Addr(), krb5Module("Client", app, "app/client.host"), "refused")
	require.Contains(t, out, "OK refused")
	require.Contains(t, other.Log(), "the ticket is for")
}

// TestTicketsAreRefusedAlike sends both kinds of servers tokens that are no proof: each answers them in the same way,
// and lets the next client in. What the log of Warren says is in TestTicketsAreRefused.
func TestTicketsAreRefusedAlike(t *testing.T) {
	const service, web = "zookeeper/localhost", "HTTP/localhost"
	r, stranger := krb5.StartRealm(t), krb5.StartStranger(t, "EXAMPLE.ORG")
	stranger.AddService(service)
	strangers := stranger.Login("app/client.host", stranger.AddService("app/client.host"))
	app := r.AddService("app/client.host")
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		for required, code := range map[string]int{"false": -115, "true": -124} {
			t.Run(string(kind)+", required "+required, func(t *testing.T) {
				node := startKerberos(t, r, kind,
					map[string]string{"maxClientCnxns": "0", "sessionRequireClientSASLAuth": required})
				r.AddService(web)
				login := r.Login("app/client.host", app)
				send := func(token []byte) (*wire.Conn, *wire.Reply) {
					c := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: 10_000})
					rep := c.MustDo(t, wire.Sasl(token))
					return c, rep
				}
				refused := func(name string, token []byte) {
					c, rep := send(token)
					require.EqualValues(t, code, rep.Header.Err, name)
					require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rep.Body, name)
					require.NoError(t, c.WaitClosed(), name)
				}
				known := krb5.FirstToken(t, login, service)
				_, rep := send(known)
				require.Zero(t, rep.Header.Err)
				refused("replayed", known)
				refused("for another service", krb5.FirstToken(t, login, web))
				foreign := krb5.FirstToken(t, strangers, service)
				refused("of a realm without trust", foreign)
				refused("of a realm without trust, under this name",
					bytes.ReplaceAll(foreign, []byte("EXAMPLE.ORG"), []byte("EXAMPLE.COM")))
				for n := 1; n < len(known); n += 13 {
					refused(fmt.Sprintf("cut off at %d", n), known[:n])
					if changed := bytes.Clone(known); n > len(known)/4 { // the encrypted parts
						changed[n] ^= 1 << (n % 8)
						refused(fmt.Sprintf("bit %d of byte %d", n%8, n), changed)
					}
				}
				// Java does not look at the realm in front of the ticket, and takes this for another request.
				_, rep = send(bytes.Replace(known, []byte("EXAMPLE.COM"), []byte("example.com"), 1))
				require.Equal(t, kind == cluster.ZooKeeper, rep.Header.Err == 0)
				_, rep = send(krb5.FirstToken(t, login, service))
				require.Zero(t, rep.Header.Err)
			})
		}
	}
}

// TestScriptByKerberos is zkCli.sh with a JAAS file in CLIENT_JVMFLAGS, and our shell with the same, at a server of
// Warren.
func TestScriptByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	jaas := writeJAAS(t, krb5Module("Client", r.AddService("app/client.host"), "app/client.host"))
	node := startKerberos(t, r, cluster.Warren, nil)
	port := must.Port(t, node.Addr())
	for _, command := range [][]string{{"/usr/share/zookeeper/bin/zkCli.sh"}, {cluster.Binary(t), "shell"}} {
		args := append(command, "-server", "localhost:"+port, "whoami")
		cmd := exec.CommandContext(programContext(t), args[0], args[1:]...)
		cmd.Env = append(os.Environ(),
			"CLIENT_JVMFLAGS=-Djava.security.krb5.conf="+r.Conf+" -Djava.security.auth.login.config="+jaas)
		require.Contains(t, string(must.Output(t, cmd)), "sasl: app/client.host@EXAMPLE.COM", args[0])
	}
}

// TestOurClientsByKerberos lets the Go client and our shell in, at servers of both kinds.
func TestOurClientsByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	r.AddUsers("bob")
	app := r.AddService("app/client.host")
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		t.Run(string(kind), func(t *testing.T) {
			node := startKerberos(t, r, kind, nil)
			login := must.Do(kerberos.NewLogin(kerberos.LoginOptions{Principal: "app/client.host",
				Keytab: app, Config: r.Conf}))(t)
			c, err := client.New(node.Addr(),
				client.WithSASL(func(string) client.Exchange { return login.Initiate("zookeeper/localhost") }))
			require.NoError(t, err)
			defer c.Close()
			who := must.Do(c.WhoAmI(programContext(t)))(t)
			require.Contains(t, who, client.Identity{Scheme: "sasl", User: "app/client.host@" + krb5.RealmName})

			port := must.Port(t, node.Addr())
			cmd := exec.CommandContext(programContext(t), cluster.Binary(t), "shell", "-s", "localhost:"+port,
				"--kerberos", "whoami")
			cmd.Env = r.Env(r.Kinit("bob"))
			require.Contains(t, string(must.Output(t, cmd)), "sasl: bob@"+krb5.RealmName)
		})
	}
}

// TestKazooByKerberos lets kazoo in with the tickets of kinit, at servers of both kinds, and not with an expired one.
func TestKazooByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	r.AddUsers("bob", "late")
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		t.Run(string(kind), func(t *testing.T) {
			port := must.Port(t, startKerberos(t, r, kind, nil).Addr())
			kazoo := func(cache, want string) string {
				python := kazooProgram(t, "sasl.py", "localhost:"+port, "bob@"+krb5.RealmName, "", want)
				python.Env = r.Env(cache)
				return string(must.Output(t, python))
			}
			require.Contains(t, kazoo(r.Kinit("bob"), "accepted"), "OK accepted")
			cache := r.Kinit("late", "-l", "1s")
			time.Sleep(2 * time.Second)
			require.Contains(t, kazoo(cache, "refused"), "OK refused")
		})
	}
}

// TestServersNeedNoKDC restarts a server, and an ensemble whose servers authenticate to each other, while the KDC is
// away. The server lets in a client that has its ticket from before. The servers cannot authenticate to each other
// without tickets, say so, and form the ensemble when the KDC is back.
func TestServersNeedNoKDC(t *testing.T) {
	r := krb5.StartRealm(t)
	r.AddUsers("bob")
	app := r.AddService("app/client.host")
	node := startKerberos(t, r, cluster.Warren, nil)
	login, err := kerberos.NewLogin(kerberos.LoginOptions{Principal: "app/client.host", Keytab: app, Config: r.Conf})
	require.NoError(t, err)
	require.NoError(t, login.Prepare(programContext(t), "zookeeper/localhost"))
	keytab := r.AddService("zkquorum/localhost")
	var options []cluster.Options
	for range 3 {
		options = append(options, quorumKerberos(t, r, keytab, cluster.Warren, "zkquorum/localhost"))
	}
	nodes := startNew(t, options)

	r.Stop()
	node.Kill()
	node.Launch()
	node.WaitServing()
	c, err := client.New(node.Addr(),
		client.WithSASL(func(string) client.Exchange { return login.Initiate("zookeeper/localhost") }))
	require.NoError(t, err)
	defer c.Close()
	who := must.Do(c.WhoAmI(programContext(t)))(t)
	require.Contains(t, who, client.Identity{Scheme: "sasl", User: "app/client.host@" + krb5.RealmName})

	nodes[0].Kill()
	nodes[0].Launch()
	require.Eventually(t, func() bool { return strings.Contains(nodes[0].Log(), "no KDC has given a ticket") },
		time.Minute, 10*time.Millisecond)
	require.False(t, nodes[0].Serves())
	require.True(t, nodes[1].Serves() && nodes[2].Serves(), "the others go on with the tickets that they have")
	r.Start()
	nodes[0].WaitServing()
}

// TestKerberosNames compares the short names that rules give with those of ZooKeeper.
func TestKerberosNames(t *testing.T) {
	r, classes := krb5.StartRealm(t), compileJava(t, "KerberosNames")
	names := []string{"bob@EXAMPLE.COM", "bob@OTHER", "zookeeper/zk1.a.org@EXAMPLE.COM", "a.b/c-d@OTHER"}
	for _, rules := range []string{"DEFAULT", "RULE:[1:$1] DEFAULT", `RULE:[1:$1.$0](.*\.OTHER)s/\..*// DEFAULT`,
		"RULE:[2:$2](zk.*)RULE:[1:$0]", "RULE:[2:$1.$2.$0]s/(.)[.](.)/$2$1$11/g",
		`RULE:[1:$1]s/b/x/ RULE:[2:$1]s/o/\$0/g`, "RULE:[1:$1@$0]", "RULE:[2:$1](zoo)DEFAULT"} {
		rules = strings.ReplaceAll(rules, `\\`, `\`)
		cmd := exec.CommandContext(programContext(t), "java",
			append([]string{"-Xmx64m", "-Djava.security.krb5.conf=" + r.Conf,
				"-Dzookeeper.security.auth_to_local=" + rules, "-cp", secureJars(classes), "KerberosNames"},
				names...)...)
		out := must.Do(cmd.Output())(t, rules)
		ours := must.Do(sasl.NewNames(rules, krb5.RealmName, true, true))(t, rules)
		var want strings.Builder
		for _, name := range names {
			p := must.Do(kerberos.ParsePrincipal(name))(t)
			user, err := ours.User(p)
			if err != nil {
				user = "-"
			}
			want.WriteString(user + "\n")
		}
		require.Equal(t, string(out), want.String(), rules)
	}
}

// quorumKerberos are the options of a server that authenticates others by Kerberos, and itself to them, as a service
// of localhost.
func quorumKerberos(t *testing.T, r *krb5.Realm, keytab string, kind cluster.Kind, learner string) cluster.Options {
	t.Helper()
	jaas := writeJAAS(t,
		krb5Module("QuorumServer", keytab, "zkquorum/localhost")+krb5Module("QuorumLearner", keytab, learner))
	o := cluster.Options{Kind: kind,
		Settings: map[string]string{"quorum.auth.enableSasl": "true", "quorum.auth.learnerRequireSasl": "true",
			"quorum.auth.serverRequireSasl": "true", "quorum.auth.kerberos.servicePrincipal": "zkquorum/_HOST"},
		Name: "localhost"}
	files := map[string]string{"java.security.auth.login.config": jaas, "java.security.krb5.conf": r.Conf}
	if kind == cluster.ZooKeeper {
		o.Properties = files
	} else {
		maps.Copy(o.Settings, files)
	}
	return o
}

// startNew starts a new ensemble. Servers in Java cannot tell those of Warren that it is new.
func startNew(t *testing.T, options []cluster.Options) []*cluster.Node {
	t.Helper()
	nodes := cluster.Ensemble(t, options...)
	for _, n := range nodes {
		n.Initialize()
	}
	cluster.StartAll(nodes...)
	return nodes
}

// TestQuorumByKerberos runs ensembles of Warren and of both kinds, whose servers authenticate by Kerberos.
func TestQuorumByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	keytab := r.AddService("zkquorum/localhost")
	const w, z = cluster.Warren, cluster.ZooKeeper
	for _, kinds := range [][]cluster.Kind{{w, w, w}, {z, w, w}, {w, z, w}, {w, z, z}, {z, z, w}} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			var options []cluster.Options
			for _, kind := range kinds {
				options = append(options, quorumKerberos(t, r, keytab, kind, "zkquorum/localhost"))
			}
			nodes := startNew(t, options)
			for i, n := range nodes { // each follower has authenticated to the leader
				c := must.Do(client.New(n.Addr()))(t)
				must.Do(c.Create(programContext(t), fmt.Sprintf("/x%d", i), nil, client.Persistent))(t)
				require.NoError(t, c.Close())
			}
		})
	}
}

// TestHostInPrincipals has _HOST in the principals of JAAS sections. In that for clients it is the name of the
// machine, in those between servers the host of the server's own line, by which the other servers ask for its ticket.
// ZooKeeper takes _HOST for a host of that name: it has no key for it, and does not start.
func TestHostInPrincipals(t *testing.T) {
	r := krb5.StartRealm(t)
	host := must.Do(os.Hostname())(t)
	host = strings.ToLower(host)
	app := r.AddService("app/client.host")
	jaas := writeJAAS(t, krb5Module("Server", r.AddService("zookeeper/"+host), "zookeeper/_HOST@"+krb5.RealmName))
	files := map[string]string{"java.security.auth.login.config": jaas, "java.security.krb5.conf": r.Conf}
	node := cluster.Start(t, cluster.Options{Settings: files})
	login := r.Login("app/client.host", app)
	c, err := client.New(node.Addr(),
		client.WithSASL(func(string) client.Exchange { return login.Initiate("zookeeper/" + host) }))
	require.NoError(t, err)
	defer c.Close()
	who := must.Do(c.WhoAmI(programContext(t)))(t)
	require.Contains(t, who, client.Identity{Scheme: "sasl", User: "app/client.host@" + krb5.RealmName})

	theirs := cluster.New(t, cluster.Options{Kind: cluster.ZooKeeper, Properties: files})
	theirs.Launch()
	require.Equal(t, 1, theirs.ExitCode())
	require.Contains(t, theirs.Log(), "LoginException")

	keytab := r.AddService("zkquorum/localhost")
	var options []cluster.Options
	for range 3 {
		o := quorumKerberos(t, r, keytab, cluster.Warren, "zkquorum/localhost")
		o.Settings["java.security.auth.login.config"] = writeJAAS(t,
			krb5Module("QuorumServer", keytab, "zkquorum/_HOST")+krb5Module("QuorumLearner", keytab, "zkquorum/_HOST"))
		options = append(options, o)
	}
	startNew(t, options)
}

// TestStrangersByKerberos has a member with the ticket of another service of the same host. It stays outside, and the
// others serve.
func TestStrangersByKerberos(t *testing.T) {
	r := krb5.StartRealm(t)
	keytab := r.AddService("zkquorum/localhost")
	var options []cluster.Options
	for range 3 {
		options = append(options, quorumKerberos(t, r, keytab, cluster.Warren, "zkquorum/localhost"))
	}
	r.AddService("HTTP/localhost")
	jaas := writeJAAS(t, krb5Module("QuorumServer", keytab, "zkquorum/localhost")+
		krb5Module("QuorumLearner", r.Keytab("HTTP/localhost"), "HTTP/localhost"))
	options[2].Settings["java.security.auth.login.config"] = jaas
	nodes := cluster.Ensemble(t, options...)
	for _, n := range nodes {
		n.Initialize()
		n.Launch()
	}
	nodes[0].WaitServing()
	nodes[1].WaitServing()
	require.Eventually(t, func() bool {
		return strings.Contains(nodes[0].Log()+nodes[1].Log(), "HTTP/localhost@EXAMPLE.COM is neither zkquorum nor")
	}, time.Minute, 10*time.Millisecond)
	require.False(t, nodes[2].Serves())
}
