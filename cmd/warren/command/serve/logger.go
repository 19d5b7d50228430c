package serve

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes lines at or above level to w.
func newLogger(level, format string, w io.Writer) (*zap.Logger, error) {
	log, _, err := newAdjustableLogger(level, format, w)
	return log, err
}

// newAdjustableLogger is newLogger with the means to change the level.
func newAdjustableLogger(level, format string, w io.Writer) (*zap.Logger, zap.AtomicLevel, error) {
	lvl := zap.NewAtomicLevel()
	parsed, err := zapcore.ParseLevel(level)
	if err != nil || parsed > zapcore.ErrorLevel {
		return nil, lvl, fmt.Errorf("log level %q is not debug, info, warn or error", level)
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
		return nil, lvl, fmt.Errorf("log format %q is not console or json", format)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), lvl)), lvl, nil
}
