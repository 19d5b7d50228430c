package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/console"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/inside"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/metrics"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/visible"
)

// operators are the ports by which operators ask and steer a server: the admin server, with the console and its API,
// and the exporter of metrics. The goroutine that starts the server opens them, in startAdmin and startExporter.
type operators struct {
	*env.Env
	facts   *ensemble.Facts
	disk    *durable.Disk
	front   *serve.Front
	live    *orders.Live
	orders  *orders.Executor
	metrics http.Handler

	admin    *admin.Server // nil if there is none
	adminAt  net.Addr      // where it listens, or nil
	exporter *http.Server  // nil if there is none
	exportAt net.Addr      // where it listens, or nil; of two ports, the one with TLS

	shown *visible.Shown // what the console shows, with figures over time; nil without a console

	keys struct{ admin, exporter atomic.Pointer[keystore.Keys] } // nil without TLS
}

// newOperators returns ports that are not open. level is the one of the log; nil if operators may not change it.
func newOperators(f *ensemble.Facts, d *durable.Disk, front *serve.Front, h *host.Host,
	level *zap.AtomicLevel) *operators {
	o := &operators{Env: f.Env, facts: f, disk: d, front: front, live: orders.NewLive(f.Env, d, front, h, level),
		metrics: metrics.Handler(f)}
	o.orders = orders.New(orders.Options{Server: o.live, Log: f.Log, SnapshotsOff: !f.Config.Admin.SnapshotEnabled,
		SnapshotInterval: f.Config.Admin.RateLimiterInterval,
		Note:             func(g orders.Given) { o.tell("order", g.String()) }})
	return o
}

// tell adds an event to those that the console shows.
func (o *operators) tell(kind, text string) {
	if o.shown != nil {
		o.shown.Tell(kind, text)
	}
}

// startAdmin opens the port of the admin server, if it is enabled. It runs before the data is loaded, so that
// /readyz can say that the server is not ready yet. If the default port is in use there is no admin server; if a
// configured port is in use that is an error.
func (o *operators) startAdmin() error {
	addr, c := o.Config.AdminAddress(), &o.Config.Admin
	if addr == "" {
		return nil
	}
	secure, err := o.adminTLS()
	if err != nil {
		return err
	}
	ln, err := inuse.Listen("tcp", addr)
	if err != nil {
		if o.Config.Given("admin.serverPort") {
			return &AdminError{Key: o.Config.Named("admin.serverPort"), Addr: addr, Err: err}
		}
		o.Log.Error("there is no admin server; set admin.serverPort, or admin.enableServer=false",
			zap.String("addr", addr), zap.Error(err))
		return nil
	}
	o.admin = admin.New(admin.Options{
		Node: node{o.facts, o}, Labels: o.front.Labels, Log: o.Log, CommandURL: c.CommandURL,
		IdleTimeout: c.IdleTimeout, Metrics: o.metrics, PProf: c.PProf, SnapshotEnabled: c.SnapshotEnabled,
		SnapshotLacksZxid: !o.Config.SerializeLastProcessedZxid, RestoreEnabled: c.RestoreEnabled,
		RestoreInterval: c.RateLimiterInterval, Orders: o.orders, TLS: secure, Handshakes: o.front.Handshakes,
		Plain: !c.ForceHTTPS, ForwardedFor: o.Config.IPUseXForwardedFor, Console: o.console(),
	})
	o.adminAt = ln.Addr()
	o.Log.Info("listening for admin commands", zap.Stringer("addr", ln.Addr()), zap.String("url", c.CommandURL))
	o.Spawn("admin", func() {
		if err := o.admin.Serve(ln); err != nil {
			o.Log.Error("the admin server has stopped: no commands, probes or metrics until this server is restarted",
				zap.Error(err))
		}
	})
	return nil
}

// keepTrends begins to keep figures over time.
func (o *operators) keepTrends() {
	if o.shown != nil {
		o.Spawn("trends", o.shown.KeepTrends)
	}
}

// console returns what the admin server serves at /, /console/ and /api/v1; nil if that is switched off.
func (o *operators) console() http.Handler {
	c := &o.Config.Admin
	if !c.Console {
		return nil
	}
	o.shown = visible.New(o.facts, o.disk, o.front)
	served := api.New(api.Options{
		Server: inside.New(o.shown, o.front), Orders: o.orders, Log: o.Log, Guesses: o.front.Guesses,
		Now: o.Runtime.Now, Writes: c.ConsoleWrites, Links: c.ConsoleLinks, Ensembles: c.ConsoleEnsembles,
		RequestMax: o.Config.JuteMaxBuffer, Metrics: o.metrics,
		Remote: func(r *http.Request) netip.Addr { return admin.Remote(r, o.Config.IPUseXForwardedFor) }})
	o.facts.Tasks(served.Passed)
	return console.New(served)
}

// stopAdmin ends the admin server. It may be called more than once.
func (o *operators) stopAdmin() {
	o.live.Close()
	if o.admin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), env.ShutTimeout)
	defer cancel()
	o.admin.Close(ctx)
}

// node is the server as the admin commands see it: its facts, and snapshots and restores by order.
type node struct {
	*ensemble.Facts
	operators *operators
}

// Snapshot implements admin.Node.
func (n node) Snapshot(ctx context.Context) (*orders.Snapshot, error) {
	return n.operators.live.Snapshot(ctx)
}

// SnapshotRefused implements admin.Node.
func (n node) SnapshotRefused() { n.Metrics.SnapshotRefused.Inc() }

// Restore implements admin.Node.
func (n node) Restore(_ context.Context, r io.Reader) (int64, error) {
	zxid, err := n.operators.live.Restore(r)
	if err == nil {
		n.operators.tell("restore", fmt.Sprintf("State restored from a snapshot, as of txn %s", proto.Zxid(zxid)))
	}
	return zxid, err
}

// RestoreRefused implements admin.Node.
func (n node) RestoreRefused() { n.Metrics.RestoreRefused.Inc() }

// InsecureConnection implements admin.Node.
func (n node) InsecureConnection() { n.Metrics.InsecureAdmin.Inc() }
