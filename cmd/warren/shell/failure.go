package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// The exit codes of commands. Source: operations 5.3.
const (
	codeOK          = 0
	codeFailed      = 1
	codeUnknown     = 127
	codeInterrupted = 130 // as shells report a process that SIGINT ended
)

var errInterrupted = errors.New("interrupted")

// failure is an error in the words of zkCli.sh, which scripts look for, and what to do about it, which people look
// for.
type failure struct {
	text  string // may be several lines
	hint  string // "" if the text says it all
	code  int    // exit code
	err   error  // cause; may be nil
	isOwn bool   // the hint is no less important than the text: it is always printed
	onOut bool   // the text goes to standard output, where zkCli.sh has it
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// wrong is the failure of a command that was not sent.
func wrong(text, hint string) *failure { return &failure{text: text, hint: hint, code: codeFailed} }

// describe turns the error of a command into a failure. cause is why its context ended, if it did.
func (s *Shell) describe(err, cause error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var op *client.Error
	path := ""
	if errors.As(err, &op) {
		path = op.Path
	}
	var refused *client.TxnError
	if errors.As(err, &refused) {
		path = refused.Path
	}
	maybe := ""
	if client.MayHaveApplied(err) {
		maybe = "; the change may have happened all the same, look before you repeat it"
	}
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
		if cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
	}
	if errors.Is(err, errInterrupted) {
		return &failure{text: "Interrupted", hint: strings.TrimPrefix(maybe, "; "), code: codeInterrupted, err: err, isOwn: maybe != ""}
	}
	var code proto.ErrCode
	switch {
	case errors.As(err, &code):
	case errors.Is(err, client.ErrClosed):
		return notConnected()
	case errors.Is(err, client.ErrTooLarge):
		return &failure{text: "KeeperErrorCode = ConnectionLoss for " + path, code: codeFailed, err: err, isOwn: true,
			hint: "the request is larger than servers accept (jute.maxbuffer, 1048575 bytes unless it was raised): store less in a znode"}
	default:
		return &failure{text: err.Error(), code: codeFailed, err: err}
	}
	f = &failure{text: errorText(code, path), hint: s.errorHint(code, path), code: codeFailed, err: err}
	if code == proto.ErrConnectionLoss || maybe != "" {
		f.hint += maybe
		f.isOwn = true
	}
	return f
}

func notConnected() *failure {
	return &failure{text: "Not connected", hint: "`connect host:port` opens a session", code: codeFailed, err: client.ErrClosed, onOut: true}
}

// errorText is what zkCli.sh says to an error of the server. Source: operations 5.4.
func errorText(code proto.ErrCode, path string) string {
	switch code {
	case proto.ErrNoNode:
		return "Node does not exist: " + path
	case proto.ErrNodeExists:
		return "Node already exists: " + path
	case proto.ErrNotEmpty:
		return "Node not empty: " + path
	case proto.ErrNoChildrenForEphemerals:
		return "Ephemerals cannot have children: " + path
	case proto.ErrNotReadOnly:
		return "Not a read-only call: " + path
	case proto.ErrInvalidACL:
		return "Acl is not valid : " + path
	case proto.ErrNoAuth:
		return "Insufficient permission : " + path
	case proto.ErrBadArguments:
		return "Arguments are not valid : " + path
	case proto.ErrBadVersion:
		return "version No is not valid : " + path
	case proto.ErrReconfigInProgress:
		return "Another reconfiguration is in progress -- concurrent reconfigs not supported (yet)"
	case proto.ErrNewConfigNoQuorum:
		return "No quorum of new config is connected and up-to-date with the leader of last committed config - try invoking reconfiguration after new servers are connected and synced"
	case proto.ErrQuotaExceeded:
		return "Quota has exceeded : " + path
	}
	text := "KeeperErrorCode = " + javaName(code)
	if path != "" {
		text += " for " + path
	}
	return text
}

// javaName is what Java's client calls an error; it differs from the table of errors for a few.
func javaName(code proto.ErrCode) string {
	switch code {
	case proto.ErrSessionExpired:
		return "Session expired"
	case proto.ErrEphemeralOnLocalSession:
		return "Ephemeral node on local session"
	case proto.ErrNoWatcher:
		return "No such watcher"
	case proto.ErrReconfigDisabled:
		return "Reconfig is disabled"
	case proto.ErrSessionClosedRequireAuth:
		return "Session closed because client failed to authenticate"
	case proto.ErrThrottledOp:
		return "Op throttled due to high load"
	}
	return code.Name()
}

// errorHint says what to do about an error of the server.
func (s *Shell) errorHint(code proto.ErrCode, path string) string {
	switch code {
	case proto.ErrConnectionLoss:
		return s.link.whyNot()
	case proto.ErrNoNode:
		return "see what is there with `ls " + paths.ParentOf(path) + "`; a parent must exist before its children"
	case proto.ErrNodeExists:
		return "change its data with `set`, or choose another path"
	case proto.ErrNotEmpty:
		return "`deleteall " + path + "` deletes it with everything below it"
	case proto.ErrNoChildrenForEphemerals:
		return "create it below a persistent znode"
	case proto.ErrNotReadOnly:
		return "the server has lost its quorum and serves reads only; connect to another one or wait"
	case proto.ErrInvalidACL:
		return "an ACL is scheme:id:perms,... with perms from cdrwa and a scheme that the server knows; scheme auth needs `addauth` first"
	case proto.ErrNoAuth:
		return "identify yourself with `addauth digest user:password`; `getAcl " + path + "` says who may, `whoami` who you are"
	case proto.ErrBadArguments:
		return "the server refuses this for this znode: the root and what it keeps below /zookeeper cannot be changed like others"
	case proto.ErrBadVersion:
		return "somebody has changed it meanwhile: look at its versions with `stat " + path + "`"
	case proto.ErrQuotaExceeded:
		return "see the limits with `listquota` on the znode or a parent of it"
	case proto.ErrUnimplemented:
		return "the server is too old for this, or has it switched off (extendedTypesEnabled for TTL)"
	case proto.ErrNoWatcher:
		return "this session has no such watch there; they are set by get -w, ls -w, stat -w and addWatch"
	case proto.ErrReconfigDisabled:
		return "the servers need reconfigEnabled=true"
	case proto.ErrReconfigInProgress:
		return "wait for it and try again; `config` shows the current configuration"
	case proto.ErrSessionExpired:
		return "`connect` opens a new session; ephemerals and watches of the old one are gone"
	case proto.ErrAuthFailed:
		return "the server does not know the scheme or refuses the credentials"
	case proto.ErrThrottledOp:
		return "the server is overloaded and has not done it; try again later"
	}
	return fmt.Sprintf("the server says: %v", error(code))
}
