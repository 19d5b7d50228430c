package zk

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

func TestErrorsAreNamed(t *testing.T) {
	for code := proto.ErrCode(-130); code < 0; code++ {
		err := failure(&client.Error{Op: "getData", Err: code})
		if !errors.Is(err, code) {
			t.Errorf("%v: the error of package client is not found", err)
		}
		same(t, err, failure(&client.Error{Op: "multi", Err: &client.TxnError{Err: code}}))
	}
	same(t, nil, errorOf(proto.OK))
	same(t, "unknown error: -6", failure(&client.Error{Err: client.ErrUnimplemented}).Error())
	if errors.Is(ErrNoNode, ErrNoAuth) || errors.Is(ErrNoServer, proto.OK) {
		t.Error("an error is another one")
	}
	other := errors.New("other")
	for _, c := range []struct{ from, want error }{
		{&client.Error{Err: client.ErrNoNode}, ErrNoNode},
		{&client.Error{Err: client.ErrClosed}, ErrConnectionClosed},
		{&client.Error{Err: client.ErrConnectionLoss, MayHaveApplied: true}, ErrConnectionClosed},
		{&client.Error{Err: fmt.Errorf("%w: 9 bytes", client.ErrTooLarge)}, ErrShortBuffer},
		{&client.Error{Err: context.Canceled}, ErrNoServer},
		{fmt.Errorf("%w: %w", client.ErrAuthFailed, other), ErrAuthFailed},
		{&client.Error{Err: other}, other},
	} {
		if got := failure(c.from); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.from, got, c.want)
		}
	}
}
