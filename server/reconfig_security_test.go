package server_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// If servers have to authenticate to each other, joiners and removed servers have to authenticate too. A server
// without a certificate of the ensemble, or without its password, gets no data.
func TestGuardedEnsemblesAreReconfigured(t *testing.T) {
	for name, guard := range map[string]func(*guarded, *config.Config){"TLS": encrypted, "SASL": authenticated,
		"SASL over TLS": both} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := &guarded{t: t, Files: pki.Files{Dir: dir, CA: pki.NewCA("ca")}, cfgs: map[int]*config.Config{}}
			const stranger = 5
			for id := 1; id <= stranger; id++ {
				ca, password := g.CA, "secret"
				if id == stranger {
					ca, password = pki.NewCA("another"), "guessed"
				}
				g.WriteKey(id, ca.Issue(pki.Options{Name: "zk", Hosts: []string{address(id)}}))
				g.WriteTrust(id, g.CA)
				g.WriteLogin(id, password)
			}
			e, err := embed.New(embed.Options{Servers: 3, Joiners: 2, TickTime: patient,
				Dir: filepath.Join(dir, "data"),
				Configure: func(id int, c *config.Config) {
					c.PreAllocSizeKB, c.DiskWatermark.Bytes = 64, 0
					c.QuorumTLS.KeyStore.Location, c.QuorumTLS.TrustStore.Location = g.File("key", id, "pem"),
						g.File("trust", id, "pem")
					c.SASL.LoginConfig = g.File("jaas", id, "conf")
					c.ReconfigEnabled, c.SkipACL = true, true
					guard(g, c)
				}})
			require.NoError(t, err)
			t.Cleanup(e.Close)
			require.NoError(t, e.WaitServing(within(t), 1, 2, 3, 4))
			c := connect(t, e, 2, wire.Options{})
			require.Equal(t, proto.ErrNewConfigNoQuorum, code(t, c, wire.Reconfig("", "", e.Line(stranger), -1)))
			require.Equal(t, proto.OK, code(t, c, wire.Reconfig(e.Line(4), "1", "", -1)))
			require.NoError(t, e.WaitServing(within(t), 1, 2, 3, 4))
			require.NoError(t, e.Restart(1)) // the others have to call it
			require.NoError(t, e.WaitServing(within(t), 1, 2, 3, 4))
			require.NoError(t, e.WaitEqual(within(t), 1, 2, 3, 4))
			require.Equal(t, e.Server(2).Status().Config, e.Server(1).Status().Config)
			require.False(t, e.Server(stranger).Serving())
			require.Zero(t, e.Server(stranger).Status().Zxid)
		})
	}
}
