package zk

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

// ErrCode is an error code of a server.
type ErrCode int32

// Errors of the connection and of servers. Operations return these very values, so that programs may compare them
// by ==.
var (
	// ErrConnectionClosed means that the Conn was closed, or that the connection was lost before the answer: a
	// write may have happened.
	ErrConnectionClosed        = named(proto.ErrConnectionLoss, "zk: connection closed")
	ErrUnknown                 = named(proto.OK, "zk: unknown error")
	ErrAPIError                = named(proto.ErrAPIError, "zk: api error")
	ErrNoNode                  = named(proto.ErrNoNode, "zk: node does not exist")
	ErrNoAuth                  = named(proto.ErrNoAuth, "zk: not authenticated")
	ErrBadVersion              = named(proto.ErrBadVersion, "zk: version conflict")
	ErrNoChildrenForEphemerals = named(proto.ErrNoChildrenForEphemerals, "zk: ephemeral nodes may not have children")
	ErrNodeExists              = named(proto.ErrNodeExists, "zk: node already exists")
	ErrNotEmpty                = named(proto.ErrNotEmpty, "zk: node has children")
	// ErrSessionExpired means that the session ended before the operation could be sent. The Conn goes on with a
	// new one.
	ErrSessionExpired = named(proto.ErrSessionExpired, "zk: session has been expired by the server")
	ErrInvalidACL     = named(proto.ErrInvalidACL, "zk: invalid ACL specified")
	// ErrInvalidFlags is returned by a create whose flags do not fit its name.
	ErrInvalidFlags = named(proto.OK, "zk: invalid flags specified")
	ErrAuthFailed   = named(proto.ErrAuthFailed, "zk: client authentication failed")
	// ErrClosing is what watches report when their Conn is closed.
	ErrClosing          = named(proto.ErrClosing, "zk: zookeeper is closing")
	ErrNothing          = named(proto.ErrNothing, "zk: no server responses to process")
	ErrSessionMoved     = named(proto.ErrSessionMoved, "zk: session moved to another server, so operation is ignored")
	ErrReconfigDisabled = named(proto.ErrReconfigDisabled,
		"attempts to perform a reconfiguration operation when reconfiguration feature is disabled")
	ErrBadArguments = named(proto.ErrBadArguments, "invalid arguments")
)

// Errors that no server sends.
var (
	// ErrNoServer is returned by operations that waited for a connection until all servers had been tried without
	// success.
	ErrNoServer = named(proto.OK, "zk: could not connect to a server")
	// ErrInvalidPath is returned for a path that no znode can have.
	ErrInvalidPath = named(proto.OK, "zk: invalid path")
	// ErrDeadlock is returned by Lock.Lock if the Lock is held already.
	ErrDeadlock = named(proto.OK, "zk: trying to acquire a lock twice")
	// ErrNotLocked is returned by Lock.Unlock if the Lock is not held.
	ErrNotLocked = named(proto.OK, "zk: not locked")
	// ErrShortBuffer is returned for a request that is larger than WithMaxConnBufferSize allows.
	ErrShortBuffer = named(proto.OK, "zk: buffer too small")
	// ErrUnhandledFieldType and ErrPtrExpected belong to go-zookeeper's encoder; nothing returns them here.
	ErrUnhandledFieldType = named(proto.OK, "zk: unhandled field type")
	ErrPtrExpected        = named(proto.OK, "zk: encode/decode expect a non-nil pointer to struct")
)

// namedError is an error with a name in this package.
type namedError struct {
	code proto.ErrCode // the code that errors.Is finds, OK for none
	text string
}

// byCode has the named errors of servers.
var byCode = map[proto.ErrCode]error{proto.OK: nil}

func named(code proto.ErrCode, text string) error {
	err := &namedError{code, text}
	if code != proto.OK {
		byCode[code] = err
	}
	return err
}

func (e *namedError) Error() string { return e.text }

// Is reports whether target is the error of package client for which e stands.
func (e *namedError) Is(target error) bool { return e.code != proto.OK && target == error(e.code) }

// unnamedError is an answer of a server that has no name in this package.
type unnamedError struct{ code proto.ErrCode }

func (e *unnamedError) Error() string { return fmt.Sprintf("unknown error: %d", int32(e.code)) }
func (e *unnamedError) Unwrap() error { return e.code }

// errorOf returns the error for a code, nil for OK.
func errorOf(code proto.ErrCode) error {
	if err, ok := byCode[code]; ok {
		return err
	}
	return &unnamedError{code}
}

// failure returns the error of this package for one of an operation of the client, nil for nil.
func failure(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*client.Error); ok {
		err = e.Err
	}
	if code, ok := err.(proto.ErrCode); ok {
		return errorOf(code)
	}
	var code proto.ErrCode
	switch {
	case errors.Is(err, client.ErrClosed):
		return ErrConnectionClosed
	case errors.As(err, &code):
		return errorOf(code)
	case errors.Is(err, client.ErrTooLarge):
		return ErrShortBuffer
	case errors.Is(err, context.Canceled):
		return ErrNoServer
	}
	return err
}
