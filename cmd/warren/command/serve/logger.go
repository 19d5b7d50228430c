package serve

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes lines at or above level to o, and the means to change that level. Lines that
// o has lost are told by a line of the same format.
func newLogger(level, format string, o *outlet) (*zap.Logger, zap.AtomicLevel, error) {
	lvl := zap.NewAtomicLevel()
	parsed, err := zapcore.ParseLevel(level)
	if err != nil || parsed > zapcore.ErrorLevel {
		return nil, lvl, fmt.Errorf("log level %q: it must be debug, info, warn or error", level)
	}
	lvl.SetLevel(parsed)
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
		return nil, lvl, fmt.Errorf("log format %q: it must be console or json", format)
	}
	o.lostLine = func(lost int) []byte {
		b, err := encoder.EncodeEntry(zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(),
			Message: "log lines were lost: their reader had ended or did not read, or the disk was full"},
			[]zapcore.Field{zap.Int("lines", lost)})
		if err != nil {
			return nil
		}
		return b.Bytes()
	}
	return zap.New(zapcore.NewCore(encoder, o, lvl)), lvl, nil
}
