package command

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// reloadAtHangup reads the configuration again at every SIGHUP, until the function that it returns is called. Of what it
// reads only warren.logLevel counts, and it counts although --log-level was given: who sends SIGHUP has changed the file
// since. A configuration with problems changes nothing.
func (o *serverOptions) reloadAtHangup(cmd *cobra.Command, args []string, log *zap.Logger, level zap.AtomicLevel) (stop func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-hangups:
				o.reload(cmd, args, log, level)
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(over)
		running.Wait()
	}
}

func (o *serverOptions) reload(cmd *cobra.Command, args []string, log *zap.Logger, level zap.AtomicLevel) {
	cfg, _, err := o.loadWith(cmd, args, o.set)
	if err != nil {
		log.Error("SIGHUP: the configuration cannot be used, nothing has changed", zap.Error(err))
		return
	}
	if !cfg.Given("warren.logLevel") {
		return
	}
	now, err := zapcore.ParseLevel(cfg.Log.Level)
	if err != nil || now == level.Level() {
		return
	}
	was := level.Level()
	level.SetLevel(now)
	log.Log(max(now, zapcore.InfoLevel), "SIGHUP: log level changed",
		zap.Stringer("from", was), zap.Stringer("to", now))
}
