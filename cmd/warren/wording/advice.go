package wording

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/seed94657493/warren/client"
)

// What to do about a server that does not answer.
const (
	CheckServer     = "check that the server runs, and that its host and port are right"
	CheckClientPort = "check that this is a client port, and whether it needs TLS"
	CheckAdminPort  = "check that this is the port of an admin server, and whether it needs https"
)

// Advice is what to do about an error of the network, if that is the same whatever was wanted; else "".
func Advice(err error) string {
	var dial *net.OpError
	var ask *url.Error
	var name *net.DNSError
	connect, isClient := errors.AsType[*client.Error](err)
	if isClient && connect.Op == "connect" {
		err = lastReason(connect)
	}
	switch {
	case err == nil, errors.As(err, &name):
	case errors.Is(err, syscall.ECONNREFUSED):
		return CheckServer
	case errors.As(err, &dial) && dial.Op == "dial": // the words say what to do
	case errors.As(err, &ask) && (silent(err) || strings.Contains(err.Error(), "server closed idle connection")):
		return CheckAdminPort
	case (dial != nil || isClient && connect.Op == "connect") && silent(err):
		return CheckClientPort
	}
	return ""
}

// silent reports whether a connection was opened, and brought no answer.
func silent(err error) bool {
	reasons := []error{io.EOF, syscall.ECONNRESET, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded}
	return slices.ContainsFunc(reasons, func(reason error) bool { return errors.Is(err, reason) })
}
