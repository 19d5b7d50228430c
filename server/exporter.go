package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/keystore"
)

// startExporter opens the ports of the metrics exporter, if one is configured. It comes before anybody is served: a
// server that ends for a port that is taken, and is started again and again, must not take clients and cut them off.
func (o *operators) startExporter() error {
	if o.Config.Metrics.ClassName != config.PrometheusProvider {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.metrics)
	errorLog, _ := zap.NewStdLogAt(o.Log, zap.DebugLevel) // fails only for unknown levels
	o.exporter = &http.Server{Handler: admin.Fatal(mux), ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, ErrorLog: errorLog}
	places := admin.NewPlaces(o.exporter, nil)
	for _, p := range o.exporterPorts() {
		ln, err := o.listenExporter(p, places)
		if err != nil {
			return err
		}
		o.exportAt = ln.Addr()
		o.Spawn("metrics", func() { _ = o.exporter.Serve(ln) })
	}
	return nil
}

// exporterPort is one port of the exporter.
type exporterPort struct {
	config.Listen
	plain, tls bool
}

// exporterPorts are the ports to listen on: one port for both protocols if their numbers are equal.
func (o *operators) exporterPorts() (all []exporterPort) {
	for _, l := range o.Config.Listens() {
		if plain := l.Key == "metricsProvider.httpPort"; plain || l.Key == "metricsProvider.httpsPort" {
			all = append(all, exporterPort{l, plain, l.Port == o.Config.Metrics.HTTPSPort})
		}
	}
	return all
}

func (o *operators) listenExporter(p exporterPort, places *admin.Places) (net.Listener, error) {
	var secure *tls.Config
	if p.tls {
		keys, err := o.exporterKeys()
		if err != nil {
			return nil, err
		}
		o.Spawn("exporter keys", func() { keys.Watch(keystore.ReloadInterval, o.Stopping.Done()) })
		o.keys.exporter.Store(keys)
		o.facts.Shows("the certificate of the port for metrics", keys.Expires)
		secure = keys.Server()
	}
	addr := net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	ln, err := inuse.Listen("tcp", addr)
	if err != nil {
		return nil, &MetricsError{o.Config.Named(p.Key), addr, err}
	}
	ln = places.Listen(ln)
	switch {
	case p.plain && p.tls:
		return admin.Unify(ln, secure, o.front.Handshakes, nil), nil
	case p.tls:
		return o.front.Handshakes.Listen(ln, secure), nil
	}
	return ln, nil
}

// stopExporter closes the ports of the exporter.
func (o *operators) stopExporter() {
	if o.exporter != nil {
		_ = o.exporter.Close()
	}
}
