package rescue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
)

func TestDoctorOnADirectory(t *testing.T) {
	dir := cmdline.CopyFixture(t, "06-crc-mismatch-middle-record")
	before := cmdline.Contents(t, dir)
	code, out, errs := run("doctor", "--no-measure", dir)
	require.Equal(t, 2, code)
	require.Regexp(t, `(?m)^critical  log-damaged             \S+/log.35\n {36}at offset \d+, txn 0x37: .*\n {36}-> `+
		`if the other servers`, out)
	require.Empty(t, errs, "the table says it all")
	require.Equal(t, before, cmdline.Contents(t, dir))

	code, out, _ = run("doctor", "--output", "json", dir+"/version-2", "--member")
	require.Equal(t, 2, code)
	var got struct {
		Worst    doctor.Severity
		Findings doctor.Findings
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, doctor.Critical, got.Worst)
	require.Equal(t, "log-damaged", got.Findings[0].Check)
	require.Contains(t, out, `"check": "myid"`)
	require.Equal(t, before, cmdline.Contents(t, dir), "the measurement leaves nothing")

	code, out, _ = run("doctor", "--no-measure", cmdline.CopyFixture(t, "03-torn-tail-zeros"))
	require.NotZero(t, code)
	require.Contains(t, out, "log-torn")
}

// certificateFile writes a certificate that lasts so long.
func certificateFile(t *testing.T, left time.Duration) string {
	key := must.Do(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0),
		NotAfter: time.Now().Add(left)}
	der := must.Do(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	file := filepath.Join(t.TempDir(), "store.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return file
}

func TestDoctorOnAConfiguration(t *testing.T) {
	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	file := filepath.Join(t.TempDir(), "zoo.cfg")
	check := func(more string) (int, string) {
		require.NoError(t, os.WriteFile(file, []byte("dataDir="+dir+"\nclientPort=1\n"+more), 0o600))
		code, out, _ := run("doctor", "--no-measure", "--config", file)
		return code, out
	}
	_, out := check("autopurge.purgeInterval=0\nfoo=1\n")
	require.Contains(t, out, "purge")
	require.Contains(t, out, "foo: key is not known")
	code, out := check("tickTime=x\n")
	require.Equal(t, 2, code)
	require.Regexp(t, `(?m)^error     config`, out)
	for left, want := range map[time.Duration]string{
		-time.Hour: "critical  certificate", time.Hour: "warning   certificate",
	} {
		code, out = check("ssl.keyStore.location=" + certificateFile(t, left) + "\n")
		require.NotZero(t, code)
		require.Contains(t, out, want)
	}
	_, out = check("ssl.keyStore.location=" + certificateFile(t, 1000*time.Hour) + "\n")
	require.NotContains(t, out, "certificate")
	_, out = check("ssl.trustStore.location=/none.pem\n")
	require.Contains(t, out, "error     certificate")
	_, out = check("server.1=127.0.0.1:11:12\nserver.2=127.0.0.1:13:14\nserver.3=127.0.0.1:15:16\ninitLimit=1\n" +
		"syncLimit=1\nmyid=1\n")
	require.Contains(t, out, "myid")
}

func TestDoctorOnServers(t *testing.T) {
	r := cmdline.StartServer(t, "--data-dir", t.TempDir(), "--client-port", "0", "-D", "admin.serverPort=0",
		"-D", "4lw.commands.whitelist=mntr,conf,cons")
	code, out, errs := run("doctor", r.Addr, "--admin-port", "0")
	require.NotContains(t, out, "critical", errs)
	require.Contains(t, out, "does not answer hash")
	require.NotEqual(t, 2, code, out)
	code, out, _ = run("doctor", r.Addr, "127.0.0.1:1", "--admin-port", "0")
	require.Equal(t, 2, code)
	require.Contains(t, out, "unreachable")
	require.Zero(t, r.Stop(t, syscall.SIGTERM))
	code, out, _ = run("doctor", r.Addr, "--admin-port", "0")
	require.Equal(t, 2, code)
	require.Regexp(t, `^critical  no-quorum`, out)

	for _, args := range [][]string{{"doctor", "--output", "xml"}, {"doctor", "--foo"}} {
		code, _, _ = run(args...)
		require.Equal(t, 2, code)
	}
	fails(t, 1, "is not a directory", "doctor", "/none/there")
}

// A terminal shows what a server says, and does nothing that it says.
func TestDoctorOnAHostileServer(t *testing.T) {
	_, out, errs := run("doctor", cmdline.Answers(t, cmdline.Hostile()...), "--admin-port", "0")
	require.NotContains(t, out+errs, "\x1b")
	require.NotContains(t, out+errs, "\u009b")
	require.Contains(t, out, `a\x1b[2J`)
	require.Contains(t, out, `b\u009b2J`)

	dir := cmdline.CopyFixture(t, "02-snapshot-and-log")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "myid"), []byte("1"), 0o600))
	_, out, errs = run("adopt", dir, "--servers", cmdline.Answers(t, cmdline.Hostile()...))
	require.NotContains(t, out+errs, "\x1b")
	require.Contains(t, errs, `leader\x1b[2J`)
}

func TestKindOfMount(t *testing.T) {
	const mounts = `1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:5 / /data rw shared:3 - nfs4 h:/x rw
3 1 0:6 / /data/log rw - xfs /dev/b rw
4 1 0:7 / /with\040blank rw - tmpfs t rw
5 1 0:8 / /data/log rw - overlay o rw
`
	for path, want := range map[string]string{
		"/": "ext4", "/database": "ext4", "/data": "nfs4", "/data/x": "nfs4", "/data/log/v": "overlay",
		"/with blank/x": "tmpfs",
	} {
		require.Equal(t, want, must.Do(kindOf(strings.NewReader(mounts), path))(t), path)
	}
	require.Error(t, must.Err(kindOf(strings.NewReader("nonsense\n"), "/")))
	require.NotEmpty(t, must.Do(mountKind(t.TempDir()))(t))
}
