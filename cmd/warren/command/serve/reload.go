package serve

import (
	"os/signal"
	"sync/atomic"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

// reloader does what SIGHUP asks for: it reads the configuration again, of which only warren.logLevel counts, and the
// certificates. The level counts although --log-level was given: an operator sends SIGHUP after a change of the file.
// A configuration with problems changes nothing.
type reloader struct {
	load   func() (*config.Config, config.Warnings, error) // the configuration, without --log-level
	log    *zap.Logger
	level  zap.AtomicLevel
	server atomic.Pointer[server.Server] // nil until it serves
}

// start waits for signals until the function that it returns is called. From then on SIGHUP is ignored: one that
// comes late must not end a server that is about to stop by itself.
func (r *reloader) start() (stop func()) {
	end := onSignal(syscall.SIGHUP, r.reload)
	return func() {
		signal.Ignore(syscall.SIGHUP)
		end()
	}
}

// recheck returns why the next start would refuse the configuration; nil if it would not.
func (r *reloader) recheck() error {
	_, _, err := r.load()
	return err
}

func (r *reloader) reload() {
	if s := r.server.Load(); s != nil {
		if err := s.ReloadCertificates(); err != nil {
			r.log.Error("SIGHUP: the certificates cannot be loaded: the old ones stay in use", zap.Error(err))
		}
	}
	cfg, _, err := r.load()
	if err != nil {
		r.log.Error("SIGHUP: the configuration cannot be used: nothing has changed", zap.Error(err))
		return
	}
	if !cfg.Given("warren.logLevel") {
		return
	}
	was := r.level.Level()
	now, err := zapcore.ParseLevel(cfg.Log.Level)
	if err != nil || now == was {
		return
	}
	r.level.SetLevel(now)
	r.log.Log(max(now, zapcore.InfoLevel), "SIGHUP: log level changed", zap.Stringer("from", was),
		zap.Stringer("to", now))
}
