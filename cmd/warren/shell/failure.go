package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
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

// misused is the failure of a command that is answered with its usage, which does not say what is wrong.
func (s *Shell) misused(name, hint string) *failure {
	return &failure{text: find(name).usageLine(), hint: hint, code: codeFailed, isOwn: !s.o.ZkCli}
}

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
	if refused, ok := errors.AsType[*client.TxnError](err); ok {
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
		return &failure{text: "Interrupted", hint: strings.TrimPrefix(maybe, "; "), code: codeInterrupted, err: err,
			isOwn: maybe != ""}
	}
	var code proto.ErrCode
	switch {
	case errors.As(err, &code):
	case errors.Is(err, client.ErrClosed):
		return notConnected()
	case errors.Is(err, client.ErrTooLarge):
		return &failure{text: "KeeperErrorCode = ConnectionLoss for " + path, code: codeFailed, err: err, isOwn: true,
			hint: "the request is larger than servers accept (jute.maxbuffer, 1048575 bytes unless it was raised): " +
				"store less in a znode"}
	default:
		return &failure{text: wording.Text(err), code: codeFailed, err: err}
	}
	f = &failure{text: errorText(code, path), hint: s.errorHint(code, path), code: codeFailed, err: err,
		isOwn: !s.o.ZkCli && slices.Contains(vague, code)}
	if code == proto.ErrConnectionLoss || maybe != "" {
		f.hint += maybe
		f.isOwn = true
	}
	return f
}

func notConnected() *failure {
	return &failure{text: "Not connected", hint: "`connect host:port` opens a session", code: codeFailed,
		err: client.ErrClosed, onOut: true}
}

// errorText is what zkCli.sh says to an error of the server. Source: operations 5.4.
func errorText(code proto.ErrCode, path string) string {
	if text, ok := errorTexts[code]; ok {
		return inWords(text, path)
	}
	text := "KeeperErrorCode = " + cmp.Or(javaNames[code], code.Name())
	if path != "" {
		text += " for " + path
	}
	return text
}

// inWords puts the path into a sentence of the tables.
func inWords(text, path string) string {
	return strings.NewReplacer("PATH", path, "PARENT", paths.ParentOf(path)).Replace(text)
}

// errorTexts are the sentences of zkCli.sh that are not the name of the error.
var errorTexts = map[proto.ErrCode]string{
	proto.ErrNoNode:                  "Node does not exist: PATH",
	proto.ErrNodeExists:              "Node already exists: PATH",
	proto.ErrNotEmpty:                "Node not empty: PATH",
	proto.ErrNoChildrenForEphemerals: "Ephemerals cannot have children: PATH",
	proto.ErrNotReadOnly:             "Not a read-only call: PATH",
	proto.ErrInvalidACL:              "Acl is not valid : PATH",
	proto.ErrNoAuth:                  "Insufficient permission : PATH",
	proto.ErrBadArguments:            "Arguments are not valid : PATH",
	proto.ErrBadVersion:              "version No is not valid : PATH",
	proto.ErrReconfigInProgress: "Another reconfiguration is in progress -- " +
		"concurrent reconfigs not supported (yet)",
	proto.ErrNewConfigNoQuorum: "No quorum of new config is connected and up-to-date with the leader of last " +
		"committed config - try invoking reconfiguration after new servers are connected and synced",
	proto.ErrQuotaExceeded: "Quota has exceeded : PATH",
}

// vague are the errors whose sentences do not say what is wrong. What to do about them is printed in scripts, too, but
// not as zkCli.sh, which prints nothing else.
var vague = []proto.ErrCode{proto.ErrInvalidACL, proto.ErrBadArguments, proto.ErrReconfigDisabled,
	proto.ErrUnimplemented, proto.ErrAuthFailed}

// javaNames are what Java's client calls an error where the table of errors has another name.
var javaNames = map[proto.ErrCode]string{
	proto.ErrSessionExpired:           "Session expired",
	proto.ErrEphemeralOnLocalSession:  "Ephemeral node on local session",
	proto.ErrNoWatcher:                "No such watcher",
	proto.ErrReconfigDisabled:         "Reconfig is disabled",
	proto.ErrSessionClosedRequireAuth: "Session closed because client failed to authenticate",
	proto.ErrThrottledOp:              "Op throttled due to high load",
}

// errorHint says what to do about an error of the server.
func (s *Shell) errorHint(code proto.ErrCode, path string) string {
	if code == proto.ErrConnectionLoss {
		return s.link.whyNot()
	}
	if hint, ok := errorHints[code]; ok {
		return inWords(hint, path)
	}
	return fmt.Sprintf("the server says: %v", error(code))
}

var errorHints = map[proto.ErrCode]string{
	proto.ErrNoNode:                  "see what is there with `ls PARENT`; a parent must exist before its children",
	proto.ErrNodeExists:              "change its data with `set`, or choose another path",
	proto.ErrNotEmpty:                "`deleteall PATH` deletes it with everything below it",
	proto.ErrNoChildrenForEphemerals: "create it below a persistent znode",
	proto.ErrNotReadOnly: "the server has lost its quorum and serves reads only; " +
		"connect to another one or wait",
	proto.ErrInvalidACL: "an ACL is scheme:id:perms,... with perms from cdrwa and a scheme that the server knows; " +
		"scheme auth needs `addauth` first",
	proto.ErrNoAuth: "identify yourself with `addauth digest user:password`; `getAcl PATH` says who may, " +
		"`whoami` who you are",
	proto.ErrBadArguments: "the server refuses this for this znode: the root and what it keeps below /zookeeper " +
		"cannot be changed like others",
	proto.ErrBadVersion:    "another client has changed it meanwhile: look at its versions with `stat PATH`",
	proto.ErrQuotaExceeded: "see the limits with `listquota` on the znode or a parent of it",
	proto.ErrUnimplemented: "the server is too old for this, or has it " +
		"switched off (extendedTypesEnabled for TTL)",
	proto.ErrNoWatcher: "this session has no such watch there; " +
		"they are set by get -w, ls -w, stat -w and addWatch",
	proto.ErrReconfigDisabled:   "set reconfigEnabled=true in the zoo.cfg of every server, and restart them",
	proto.ErrReconfigInProgress: "wait for it and try again; `config` shows the current configuration",
	proto.ErrSessionExpired:     "`connect` opens a new session; ephemerals and watches of the old one are gone",
	proto.ErrAuthFailed:         "the server does not know the scheme or refuses the credentials",
	proto.ErrThrottledOp:        "the server is overloaded and has not done it; try again later",
}
