package client

import (
	"context"
	"errors"

	"github.com/seed94657493/warren/proto"
)

// The errors of a server, and ErrConnectionLoss, which is the client's own. They are values of proto.ErrCode and
// found by errors.Is in every error that an operation returns.
const (
	ErrConnectionLoss          = proto.ErrConnectionLoss
	ErrSystemError             = proto.ErrSystemError
	ErrDataInconsistency       = proto.ErrDataInconsistency
	ErrOperationTimeout        = proto.ErrOperationTimeout
	ErrInvalidState            = proto.ErrInvalidState
	ErrUnknownSession          = proto.ErrUnknownSession
	ErrAPIError                = proto.ErrAPIError
	ErrInvalidCallback         = proto.ErrInvalidCallback
	ErrClosing                 = proto.ErrClosing
	ErrNothing                 = proto.ErrNothing
	ErrSessionMoved            = proto.ErrSessionMoved
	ErrRequestTimeout          = proto.ErrRequestTimeout
	ErrMarshalling             = proto.ErrMarshallingError
	ErrUnimplemented           = proto.ErrUnimplemented
	ErrBadArguments            = proto.ErrBadArguments
	ErrNewConfigNoQuorum       = proto.ErrNewConfigNoQuorum
	ErrReconfigInProgress      = proto.ErrReconfigInProgress
	ErrReconfigDisabled        = proto.ErrReconfigDisabled
	ErrRuntimeInconsistency    = proto.ErrRuntimeInconsistency
	ErrNoNode                  = proto.ErrNoNode
	ErrNoAuth                  = proto.ErrNoAuth
	ErrBadVersion              = proto.ErrBadVersion
	ErrNoChildrenForEphemerals = proto.ErrNoChildrenForEphemerals
	ErrNodeExists              = proto.ErrNodeExists
	ErrNotEmpty                = proto.ErrNotEmpty
	ErrSessionExpired          = proto.ErrSessionExpired
	ErrInvalidACL              = proto.ErrInvalidACL
	ErrAuthFailed              = proto.ErrAuthFailed
	ErrNotReadOnly             = proto.ErrNotReadOnly
	ErrEphemeralOnLocalSession = proto.ErrEphemeralOnLocalSession
	ErrNoWatcher               = proto.ErrNoWatcher
	ErrQuotaExceeded           = proto.ErrQuotaExceeded
	ErrThrottled               = proto.ErrThrottledOp
	ErrAuthRequired            = proto.ErrSessionClosedRequireAuth
)

// Errors of the client itself.
var (
	// ErrClosed is returned for every operation of a client that was closed.
	ErrClosed = errors.New("client: closed")
	// ErrTooLarge is returned for a request so large that a server would cut the connection. See WithMaxRequest.
	ErrTooLarge = errors.New("client: request is too large")
	// ErrProtocol is returned when a server violates the protocol; the client closes the connection.
	ErrProtocol = errors.New("client: server broke the protocol")
	// ErrCacheFull is returned by a Cache whose subtree needs more memory than allowed.
	ErrCacheFull = errors.New("client: subtree is larger than the cache may be")
)

// Error is the error of an operation: the operation, its znode, and whether it may have been applied all the
// same.
type Error struct {
	// Op is the operation's name in the protocol, such as "create2" or "getData".
	Op string
	// Path is the znode, as in the call.
	Path string
	// MayHaveApplied is true if a write was written to the network and its answer is not known: the connection
	// was lost or the caller stopped waiting. It is false for reads, for writes that were never sent, and for
	// every answer of the server.
	MayHaveApplied bool
	// Err is the cause: a code of the server, ErrConnectionLoss, ErrClosed, or the error of a context.
	Err error
}

// Error returns the operation, path and cause, and says whether a write may have been applied. The cause alone does
// not say that: it is the same for a read.
func (e *Error) Error() string {
	s := "client: " + e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	s += ": " + e.Err.Error()
	if e.MayHaveApplied {
		s += " (may have been applied)"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MayHaveApplied reports whether err belongs to a write that may or may not have been applied.
func MayHaveApplied(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.MayHaveApplied
}

// SafeToRetry reports whether the operation that returned err certainly had no effect and may succeed if it is
// called again: it was a read, the connection was lost before it was sent, or the server was too busy. It is
// false for writes that may have been applied; CreateProtected shows how to find that out.
func SafeToRetry(err error) bool {
	if err == nil || MayHaveApplied(err) {
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return errors.Is(err, ErrConnectionLoss) || errors.Is(err, ErrThrottled) || errors.Is(err, ErrReconfigInProgress)
}
