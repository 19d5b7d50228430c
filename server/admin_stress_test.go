package server_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/test/wire"
)

// Clients send all admin commands, from before the data is loaded until the server has stopped. The admin server
// always answers, or its port is closed. The race detector watches.
func TestAdminFromStartToStop(t *testing.T) {
	cfg := testConfig(t)
	cfg.SuperDigest = auth.DigestIdentity("super:secret").ID
	cfg.Admin.Enabled, cfg.Admin.Port, cfg.Admin.RateLimiterInterval = true, 0, 0
	paths := []string{"/metrics", "/readyz", "/healthz", "/commands"}
	for _, command := range []string{
		"conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "icfg", "isro", "lsnp", "lead", "mntr",
		"obsr", "orst", "ruok",
		"srvr", "srst", "stat", "stmk?traceMask=1", "sysp", "voting_view", "wchs", "wchc", "wchp", "zabstate", "snap",
		"snap?streaming=false",
	} {
		paths = append(paths, "/commands/"+command)
	}
	for round := range 4 {
		core, logs := observer.New(zap.InfoLevel)
		s := server.New(cfg, server.Options{Log: zap.New(core)})
		started := make(chan error, 1)
		go func() { started <- s.Start() }()
		var addr string
		require.Eventually(t, func() bool {
			entries := logs.FilterMessage("listening for admin commands").All()
			if len(entries) > 0 {
				addr = fmt.Sprint(entries[0].ContextMap()["addr"])
			}
			return addr != ""
		}, hangGuard, 100*time.Microsecond)

		stopped := make(chan struct{})
		var askers sync.WaitGroup
		var statuses sync.Map
		for asker := range 4 {
			askers.Go(func() {
				client := http.Client{Transport: &http.Transport{DisableKeepAlives: asker%2 == 0}, Timeout: hangGuard}
				defer client.CloseIdleConnections()
				for i := asker; ; i++ {
					select {
					case <-stopped:
						return
					default:
					}
					r, _ := http.NewRequest(http.MethodGet, "http://"+addr+paths[i%len(paths)], nil)
					r.Header.Set("Authorization", superUser)
					resp, err := client.Do(r)
					if err != nil {
						continue // it is being stopped
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					statuses.Store(resp.StatusCode, true)
				}
			})
		}
		require.NoError(t, <-started)
		c := wire.Open(t, s.Addr().String(), wire.Options{})
		for i := range 300 {
			c.MustCreate(t, fmt.Sprintf("/r%d-%d", round, i), make([]byte, 1000), proto.ModePersistent)
		}
		began := time.Now()
		s.Stop()
		require.Less(t, time.Since(began), hangGuard)
		close(stopped)
		askers.Wait()
		c.Close()
		statuses.Range(func(status, _ any) bool {
			// 500 is the answer for a snapshot that Stop has interrupted.
			require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusInternalServerError},
				status)
			return true
		})
	}
}
