package visible

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Refusal is an error with the HTTP status that it gets.
type Refusal struct {
	Status int
	Text   string
	// After is when the same request may be made again, 0 if that is not known or does not depend on time.
	After time.Duration
}

// Error returns what is wrong.
func (r *Refusal) Error() string { return r.Text }

func refusal(status int, text string) error { return &Refusal{Status: status, Text: text} }

// Trouble is the answer to a request that was not done.
type Trouble struct {
	Type   string `json:"type" doc:"about:blank"`
	Title  string `json:"title" doc:"of the HTTP status"`
	Status int    `json:"status" doc:"HTTP status"`
	Detail string `json:"detail" doc:"what is wrong with this request"`
	Code   string `json:"code" doc:"name of ZooKeeper's error if there is one, such as NoAuth"`
}

// statuses are the HTTP statuses of ZooKeeper's errors; 500 for others.
var statuses = map[proto.ErrCode]int{
	proto.ErrNoNode: http.StatusNotFound, proto.ErrNoAuth: http.StatusForbidden,
	proto.ErrBadVersion: http.StatusConflict, proto.ErrNodeExists: http.StatusConflict,
	proto.ErrNotEmpty: http.StatusConflict, proto.ErrNoChildrenForEphemerals: http.StatusConflict,
	proto.ErrBadArguments: http.StatusBadRequest, proto.ErrInvalidACL: http.StatusBadRequest,
	proto.ErrMarshallingError: http.StatusBadRequest, proto.ErrQuotaExceeded: http.StatusInsufficientStorage,
	proto.ErrNotReadOnly: http.StatusServiceUnavailable, proto.ErrSystemError: http.StatusServiceUnavailable,
	proto.ErrThrottledOp:   http.StatusServiceUnavailable,
	proto.ErrUnimplemented: http.StatusNotImplemented, proto.ErrSessionClosedRequireAuth: http.StatusUnauthorized,
}

// TroubleOf describes an error for the visitor.
func TroubleOf(err error) Trouble {
	t := Trouble{Type: "about:blank", Status: http.StatusInternalServerError, Detail: err.Error()}
	var refused *Refusal
	var code proto.ErrCode
	switch {
	case errors.As(err, &refused):
		t.Status = refused.Status
	case errors.As(err, &code):
		t.Status = cmp.Or(statuses[code], t.Status)
		t.Code, t.Detail = code.Name(), cmp.Or(sentences[code], code.Error())
	}
	t.Title = http.StatusText(t.Status)
	return t
}

// sentences say for visitors what ZooKeeper's errors mean.
var sentences = map[proto.ErrCode]string{
	proto.ErrNoNode:                  "there is no such znode",
	proto.ErrNoAuth:                  "the ACL of the znode does not allow it to this visitor",
	proto.ErrBadVersion:              "the znode has changed meanwhile: its version is another one",
	proto.ErrNodeExists:              "there is a znode with this path already",
	proto.ErrNotEmpty:                "the znode has children",
	proto.ErrNoChildrenForEphemerals: "an ephemeral znode cannot have children",
	proto.ErrBadArguments:            "the path, or another value, is malformed",
	proto.ErrInvalidACL:              "the ACL is empty or malformed",
	proto.ErrQuotaExceeded:           "a quota does not allow it",
	proto.ErrNotReadOnly:             "this server is read-only: it has lost its ensemble",
}
