package zkscripts

import (
	"errors"
	"io"
)

// daemon is a server that zkServer.sh start leaves behind, on Unix only.
type daemon struct{}

func newDaemon(string, string, io.Writer) (*daemon, error) {
	return nil, errors.New("no server can be left behind on Windows: use start-foreground")
}

func (*daemon) run(string) error { return errors.ErrUnsupported }
