package orders

import (
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/internal/answers"
)

// levelDial changes the level of the server's log for an operator. Its lock guards all fields but the first two, which
// do not change.
type levelDial struct {
	level *zap.AtomicLevel // nil if the program that runs the server does not let it be changed
	log   *zap.Logger

	mu     sync.Mutex
	back   *time.Timer // restores the former level; nil if the level is not limited in time
	was    zapcore.Level
	chosen zapcore.Level
	until  time.Time
}

var errFixedLevel = errors.New("the program that runs this server does not let the level of its log be changed")

// set changes the level for a time, or for as long as the process runs if that is 0. A limited change that comes
// before the end of another one goes back to the level before that one.
func (d *levelDial) set(level zapcore.Level, last time.Duration) error {
	if d.level == nil {
		return errFixedLevel
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.level.Level()
	if d.back != nil && was == d.chosen {
		was = d.was
	}
	d.stop()
	d.level.SetLevel(level)
	if last == 0 || level == was {
		return nil
	}
	d.was, d.chosen, d.until = was, level, time.Now().Add(last)
	var timer *time.Timer
	timer = time.AfterFunc(last, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.back == timer { // else there was another order meanwhile
			d.restore()
		}
	})
	d.back = timer
	return nil
}

// stop forgets that the level is limited in time. REQUIRES: mu.
func (d *levelDial) stop() {
	if d.back != nil {
		d.back.Stop()
		d.back = nil
	}
}

// restore goes back to the former level, unless the level was changed by other means, such as SIGHUP. REQUIRES: mu.
func (d *levelDial) restore() {
	d.stop()
	if d.level.Level() == d.chosen {
		d.level.SetLevel(d.was)
		d.log.Log(max(d.was, zapcore.InfoLevel), "the log level is back, as the operator has wanted",
			zap.Stringer("from", d.chosen), zap.Stringer("to", d.was))
	}
}

// close goes back to the former level, since a program may go on without the server.
func (d *levelDial) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.back != nil {
		d.restore()
	}
}

// view describes the level, which is now for the log.
func (d *levelDial) view(now zapcore.Level) answers.Level {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := answers.Level{Level: now.String()}
	if now > zapcore.FatalLevel {
		l.Level = "off" // the program drops the log
	}
	if d.back != nil && now == d.chosen {
		l.Then, l.Until = d.was.String(), d.until.UnixMilli()
	}
	return l
}
