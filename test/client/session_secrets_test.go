package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// An ensemble goes from ZooKeeper's passwords, which every client can compute from the id of a session, to passwords
// that need a secret, by restarts of one server after the other, and no client loses its session. After the last step
// the id of a session, which Stat shows to every reader of an ephemeral znode, opens it no more, at any server.
func TestSessionSecretsAreSwitchedOnServerByServer(t *testing.T) {
	dir := t.TempDir()
	file := func(id int) string { return filepath.Join(dir, "secrets-"+string(rune('0'+id))) }
	write := func(id int, lines ...string) {
		require.NoError(t, os.WriteFile(file(id), []byte(strings.Join(lines, "\n")), 0o600))
	}
	secret := strings.Repeat("c4f3", 16)
	for id := 1; id <= 3; id++ {
		write(id, "zookeeper")
	}
	e := embed.Start(t, embed.Options{Servers: 3, Dir: filepath.Join(dir, "data"),
		Configure: func(id int, cfg *config.Config) { cfg.SessionSecrets = file(id) }})
	victim := must.Do(client.Dial(t.Context(), e.ConnectString(), client.WithSessionTimeout(time.Minute)))(t)
	defer victim.Close()
	must.Do(victim.Create(t.Context(), "/lock", nil, client.Ephemeral))(t)
	opens := func(at int) bool {
		reader := must.Do(wire.Dial(e.Addr(at), wire.Options{}))(t)
		defer reader.Close()
		require.NoError(t, reader.Sync("/"))
		st := reader.MustExists(t, "/lock", false)
		password := proto.SessionPassword(st.EphemeralOwner)
		thief, err := wire.Dial(e.Addr(at), wire.Options{Session: st.EphemeralOwner, Password: password[:]})
		if err != nil {
			require.ErrorIs(t, err, wire.ErrRejected)
			return false
		}
		thief.Close()
		return true
	}
	id, _ := victim.Session()
	use := func() {
		require.Eventually(t, func() bool {
			_, err := victim.Set(t.Context(), "/lock", nil, -1)
			require.NotErrorIs(t, err, client.ErrNoNode)
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		now, _ := victim.Session()
		require.Equal(t, id, now, "the session goes on")
	}
	require.True(t, opens(1), "ZooKeeper's rule")
	for _, step := range [][]string{{"zookeeper", secret}, {secret, "zookeeper"}, {secret}} {
		for at := 1; at <= 3; at++ {
			write(at, step...)
			require.NoError(t, e.Restart(at))
			require.NoError(t, e.WaitServing(t.Context()))
			use()
		}
	}
	for at := 1; at <= 3; at++ {
		require.False(t, opens(at), "server %d", at)
	}
	use()
}
