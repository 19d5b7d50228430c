package krb5

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/must"
)

// RealmName is the realm of StartRealm.
const RealmName = "EXAMPLE.COM"

// Realm is a KDC with its database. Users have the password Password.
type Realm struct {
	// Name is the name of the realm.
	Name string
	// Conf is the krb5.conf of clients and services.
	Conf string

	t       testing.TB
	dir     string
	port    int
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// Password is the password of every user.
const Password = "users-password"

// StartRealm makes a database and starts a KDC, which ends with the test. It skips the test if Debian's krb5-kdc and
// krb5-admin-server are not installed.
func StartRealm(t testing.TB) *Realm {
	t.Helper()
	return StartStranger(t, RealmName)
}

// StartStranger does it for a realm of another name, which no other realm trusts.
func StartStranger(t testing.TB, name string) *Realm {
	t.Helper()
	needKDC(t)
	return startRealms(t, name)[0]
}

func needKDC(t testing.TB) {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if _, err := exec.LookPath(sbin(program)); err != nil {
			t.Skipf("%s is missing: install krb5-kdc, krb5-admin-server and krb5-user", program)
		}
	}
}

// StartRealms starts the KDCs of two realms. Clients of the second get tickets for services of the first, which trusts
// it. Every host is of the first. It skips the test as StartRealm does.
func StartRealms(t testing.TB, trusting, trusted string) (service, client *Realm) {
	t.Helper()
	needKDC(t)
	both := startRealms(t, trusting, trusted)
	for _, r := range both {
		r.run("kadmin.local", "-r", r.Name, "-q", "addprinc -pw between-realms krbtgt/"+trusting+"@"+trusted)
	}
	return both[0], both[1]
}

func startRealms(t testing.TB, names ...string) (all []*Realm) {
	t.Helper()
	var realms strings.Builder
	for _, name := range names {
		r := &Realm{Name: name, t: t, dir: t.TempDir(), port: freePort(t)}
		fmt.Fprintf(&realms, " %s = {\n  kdc = 127.0.0.1:%d\n }\n", name, r.port)
		all = append(all, r)
	}
	for _, r := range all {
		r.make(realms.String(), names[0])
	}
	return all
}

// make makes the database and starts the KDC.
func (r *Realm) make(realms, ofHosts string) {
	r.t.Helper()
	r.Conf = r.file("krb5.conf")
	r.write("krb5.conf", fmt.Sprintf(`[libdefaults]
 default_realm = %s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 default_ccache_name = FILE:%s/cc
[realms]
%s[domain_realm]
 localhost = %s
`, r.Name, r.dir, realms, ofHosts))
	r.write("kdc.conf", fmt.Sprintf(`[kdcdefaults]
 kdc_listen = 127.0.0.1:%[2]d
 kdc_tcp_listen = 127.0.0.1:%[2]d
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
  max_life = 10h
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal aes256-cts-hmac-sha384-192:normal aes128-cts-hmac-sha256-128:normal
 }
[logging]
 kdc = FILE:%[3]s/kdc.log
`, r.Name, r.port, r.dir))
	r.run("kdb5_util", "create", "-s", "-r", r.Name, "-P", "master")
	r.Start()
	r.t.Cleanup(r.Stop)
}

func sbin(program string) string {
	if program == "kinit" {
		return program
	}
	return filepath.Join("/usr/sbin", program)
}

func freePort(t testing.TB) int {
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func (r *Realm) file(name string) string { return filepath.Join(r.dir, name) }

func (r *Realm) write(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.file(name), []byte(text), 0o600))
}

// Env is the environment of a process of the realm, with a ticket cache; "" is none.
func (r *Realm) Env(cache string) []string {
	return append(os.Environ(), "KRB5_CONFIG="+r.Conf, "KRB5_KDC_PROFILE="+r.file("kdc.conf"),
		"KRB5CCNAME=FILE:"+cache, "KRB5RCACHETYPE=none")
}

func (r *Realm) run(program string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(sbin(program), args...)
	cmd.Env = r.Env("")
	return string(must.Output(r.t, cmd))
}

// Start starts the KDC, and waits until it answers.
func (r *Realm) Start() {
	r.t.Helper()
	r.process = exec.Command(sbin("krb5kdc"), "-n", "-r", r.Name)
	r.process.Env = r.Env("")
	r.process.SysProcAttr = endsWithTest()
	var out bytes.Buffer
	r.process.Stdout, r.process.Stderr = &out, &out
	require.NoError(r.t, r.process.Start())
	r.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(r.process, r.ended)
	require.Eventually(r.t, func() bool {
		nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond, "the KDC does not answer")
}

// Stop ends the KDC.
func (r *Realm) Stop() {
	if r.process == nil {
		return
	}
	_ = r.process.Process.Kill()
	<-r.ended
	r.process = nil
}

// AddUsers makes users with the password Password.
func (r *Realm) AddUsers(users ...string) {
	r.t.Helper()
	for _, u := range users {
		r.run("kadmin.local", "-r", r.Name, "-q", "addprinc -pw "+Password+" "+u)
	}
}

// AddService makes a principal with random keys, and writes them to a keytab.
func (r *Realm) AddService(principal string) (keytab string) {
	r.t.Helper()
	r.run("kadmin.local", "-r", r.Name, "-q", "addprinc -randkey "+principal)
	return r.Keytab(principal)
}

// Login is a client with a keytab.
func (r *Realm) Login(principal, keytab string) *kerberos.Login {
	r.t.Helper()
	l := must.Do(kerberos.NewLogin(kerberos.LoginOptions{Principal: principal, Keytab: keytab, Config: r.Conf,
		Timeout: time.Minute}))(r.t)
	return l
}

// FirstToken is the token with which a client begins an exchange with a service.
func FirstToken(t testing.TB, l *kerberos.Login, service string) []byte {
	t.Helper()
	token, _ := must.Do2(l.Initiate(service).Next(nil))(t)
	return token
}

// Limit bounds the life of the tickets of a principal.
func (r *Realm) Limit(principal string, life time.Duration) {
	r.t.Helper()
	r.run("kadmin.local", "-r", r.Name, "-q", fmt.Sprintf("modprinc -maxlife %dsec %s", life/time.Second, principal))
}

// Keytab gives a principal new keys and writes them to a keytab, besides those that are there.
func (r *Realm) Keytab(principal string) (keytab string) {
	r.t.Helper()
	keytab = r.file(strings.NewReplacer("/", "-", "@", "-").Replace(principal) + ".keytab")
	r.run("kadmin.local", "-r", r.Name, "-q", "ktadd -k "+keytab+" "+principal)
	return keytab
}

// Kinit writes the ticket of a user to a cache, with options of kinit.
func (r *Realm) Kinit(user string, options ...string) (cache string) {
	r.t.Helper()
	cache = r.file("cc-" + user)
	cmd := exec.Command("kinit", append(options, "-c", "FILE:"+cache, user)...)
	cmd.Env, cmd.Stdin = r.Env(cache), strings.NewReader(Password+"\n")
	must.Output(r.t, cmd)
	return cache
}
