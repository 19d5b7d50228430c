package command

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes lines at or above level to w.
func newLogger(level, format string, w io.Writer) (*zap.Logger, error) {
	lvl, err := zapcore.ParseLevel(level)
	if err != nil || lvl > zapcore.ErrorLevel {
		return nil, fmt.Errorf("log level %q is not debug, info, warn or error", level)
	}
	encoding := zap.NewProductionEncoderConfig()
	encoding.EncodeTime = zapcore.ISO8601TimeEncoder
	encoding.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	switch format {
	case "console":
		encoding.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(encoding)
	case "json":
		encoder = zapcore.NewJSONEncoder(encoding)
	default:
		return nil, fmt.Errorf("log format %q is not console or json", format)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), lvl)), nil
}

// listening is the message of the server's log that carries the address of the client port.
const listening = "listening for clients"

// whenListening calls ready with the address when the server logs that it listens. Connections queue from then on.
func whenListening(ready func(addr string)) zap.Option {
	return zap.WrapCore(func(c zapcore.Core) zapcore.Core { return &listeningCore{c, ready} })
}

// listeningCore passes entries on and looks at one of them.
type listeningCore struct {
	zapcore.Core
	ready func(addr string)
}

func (c *listeningCore) Enabled(l zapcore.Level) bool {
	return l == zapcore.InfoLevel || c.Core.Enabled(l)
}

func (c *listeningCore) With(fields []zapcore.Field) zapcore.Core {
	return &listeningCore{c.Core.With(fields), c.ready}
}

func (c *listeningCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == listening {
		return checked.AddCore(e, c)
	}
	return c.Core.Check(e, checked)
}

func (c *listeningCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	for _, f := range fields {
		if s, ok := f.Interface.(fmt.Stringer); ok && f.Key == "addr" {
			c.ready(s.String())
		}
	}
	if !c.Core.Enabled(e.Level) {
		return nil
	}
	return c.Core.Write(e, fields)
}
