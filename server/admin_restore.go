package server

import (
	"context"
	"io"

	"github.com/seed94657493/warren/server/admin"
)

// Restore implements admin.Node. A snapshot is restored by starting the server on it: a server that runs has txns on their
// way from the preparer to the log and to the state, and no place between them at which all three could be replaced.
func (n adminNode) Restore(context.Context, io.Reader) (int64, error) {
	return 0, admin.ErrCannotRestore
}

// RestoreRefused implements admin.Node.
func (n adminNode) RestoreRefused() { n.metrics.restoreRefused.Inc() }
