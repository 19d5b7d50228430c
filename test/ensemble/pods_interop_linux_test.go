//go:build interop

package ensemble

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// startZooKeeper starts ZooKeeper in a pod, with the files that the scripts of Bitnami's image write.
func (p *pods) startZooKeeper(id, n int) {
	p.t.Helper()
	dir := p.roots[id]
	data := filepath.Join(dir, "bitnami/zookeeper/data")
	lines := []string{"tickTime=500", "initLimit=10", "syncLimit=5", "dataDir=" + data, "clientPort=2181",
		"maxClientCnxns=60", "standaloneEnabled=true", "admin.enableServer=false",
		"4lw.commands.whitelist=srvr, mntr, ruok", "authProvider.1=" +
			"org.apache.zookeeper.server.auth.SASLAuthenticationProvider", "requireClientAuthScheme=sasl",
		"quorum.auth.enableSasl=false"}
	for other := 1; other <= n; other++ {
		lines = append(lines, fmt.Sprintf("server.%d=%s:2888:3888;2181", other, p.fabric.Addr(other)))
	}
	cfg, jaas := filepath.Join(dir, "zoo.cfg"), filepath.Join(dir, "zoo_jaas.conf")
	for name, text := range map[string]string{cfg: strings.Join(lines, "\n") + "\n",
		filepath.Join(data, "myid"): fmt.Sprintln(id),
		jaas: "Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_alice=\"one\" " +
			"user_bob=\"two\"; };\n"} {
		require.NoError(p.t, os.WriteFile(name, []byte(text), 0o644))
	}
	log, err := os.OpenFile(p.log(id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(p.t, err)
	defer log.Close()
	cmd := exec.Command("ip", "netns", "exec", p.fabric.Namespace(id), "chroot", "--userspec=1001:0", "/", "java",
		"-Xmx256m", "-Djava.security.auth.login.config="+jaas, "-cp", cluster.ClassPath(),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(p.t, cmd.Start())
	p.cmds[id] = cmd
}

// TestReleaseReplacesBitnami rolls a set of three pods with ZooKeeper, as Bitnami's image runs it, over to this chart
// on the volumes that are there, one pod at a time, and then scales it to five. A client writes all the time: each
// write succeeds, and each acknowledged one is there at the end.
func TestReleaseReplacesBitnami(t *testing.T) {
	p := newPods(t, 5)
	for id := 1; id <= 3; id++ {
		p.startZooKeeper(id, 3)
	}
	p.ready(1, 2, 3)
	check := p.writes(3)
	for id := 3; id >= 1; id-- {
		_ = p.end(id)
		p.start(id, 3)
		p.ready(id)
	}
	p.upgrade(3, 5)
	check(5)
}
