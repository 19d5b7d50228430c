package wal

import (
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Errors that callers check. The first two come as *Error.
var (
	// ErrCorrupt means that bytes which may have been acknowledged are damaged or missing.
	ErrCorrupt = errors.New("corrupt log")
	// ErrNotLog is ErrCorrupt for a file that does not begin as a log does.
	ErrNotLog error = notLogKind{}
	// ErrGap means that the log begins after the zxid that is needed: a file is missing.
	ErrGap = errors.New("missing log")
	// ErrNotFound means that a zxid is not in the log.
	ErrNotFound = errors.New("wal: zxid is not in the log")
	// ErrOrder means that a batch does not continue the log.
	ErrOrder = errors.New("wal: txn does not continue the log")
	// ErrRecord means that a batch is not made of whole framed records.
	ErrRecord = errors.New("wal: malformed batch")
	// ErrClosed means that the log is closed.
	ErrClosed = errors.New("wal: log is closed")
	// ErrTruncated means that an Iterator's position was cut away by Truncate or Reset.
	ErrTruncated = errors.New("wal: log was truncated below the iterator")
	// ErrName means that a file's name makes the directory ambiguous.
	ErrName = errors.New("wal: ambiguous file name")
)

// notLogKind is the kind ErrNotLog.
type notLogKind struct{}

func (notLogKind) Error() string { return "not a log file" }
func (notLogKind) Unwrap() error { return ErrCorrupt }

// Error says which bytes of the log cannot be trusted, why, and what an operator can do.
type Error struct {
	Kind   error      // ErrCorrupt, ErrNotLog or ErrGap
	File   string     // path
	Offset int64      // of the first byte in doubt
	Zxid   proto.Zxid // of the txn in doubt, or of the last good one before it
	Reason string     // what was found
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("wal: %v: %s at offset %d, zxid %v: %s; %s", e.Kind, e.File, e.Offset, e.Zxid, e.Reason,
		e.Remedy())
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Remedy says what an operator can do.
func (e *Error) Remedy() string {
	if errors.Is(e.Kind, ErrGap) {
		return "put the missing log file back; or, if other servers of the ensemble are healthy, " +
			"move the version-2 directories of this server away and let it synchronize"
	}
	if errors.Is(e.Kind, ErrNotLog) {
		return "name a file log.* of a version-2 directory; if it is one, its beginning is damaged, and nothing in " +
			"it can be read: if other servers of the ensemble are healthy, move the version-2 directories of this " +
			"server away and let it synchronize; if there are none, restore a backup"
	}
	return "acknowledged txns may be affected: if other servers of the ensemble are healthy, move the " +
		"version-2 directories of this server away and let it synchronize; if there are none, restore a " +
		"backup, or give up every txn from this offset on by truncating the file there and removing later log files"
}

func corrupt(file string, offset int64, zxid proto.Zxid, format string, args ...any) error {
	return &Error{Kind: ErrCorrupt, File: file, Offset: offset, Zxid: zxid, Reason: fmt.Sprintf(format, args...)}
}

func notLog(file string, last proto.Zxid, format string, args ...any) error {
	return &Error{Kind: ErrNotLog, File: file, Zxid: last, Reason: fmt.Sprintf(format, args...)}
}
