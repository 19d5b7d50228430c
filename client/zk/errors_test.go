package zk

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

func TestErrorsAreNamed(t *testing.T) {
	for code := proto.ErrCode(-130); code < 0; code++ {
		err := failure(&client.Error{Op: "getData", Err: code})
		require.Error(t, err)
		require.ErrorIs(t, err, code, "the error of package client is found too")
		require.Equal(t, err, failure(&client.Error{Op: "multi", Err: &client.TxnError{Err: code}}))
	}
	require.NoError(t, errorOf(proto.OK))
	require.True(t, failure(&client.Error{Err: client.ErrNoNode}) == ErrNoNode)
	require.EqualError(t, failure(&client.Error{Err: client.ErrUnimplemented}), "unknown error: -6")
	require.NotErrorIs(t, ErrNoNode, ErrNoAuth)
	require.NotErrorIs(t, ErrNoServer, proto.OK)
	other := errors.New("other")
	for _, c := range []struct{ from, want error }{
		{&client.Error{Err: client.ErrClosed}, ErrConnectionClosed},
		{&client.Error{Err: client.ErrConnectionLoss, MayHaveApplied: true}, ErrConnectionClosed},
		{&client.Error{Err: fmt.Errorf("%w: 9 bytes", client.ErrTooLarge)}, ErrShortBuffer},
		{&client.Error{Err: context.Canceled}, ErrNoServer},
		{fmt.Errorf("%w: %w", client.ErrAuthFailed, other), ErrAuthFailed},
		{&client.Error{Err: other}, other},
	} {
		require.True(t, failure(c.from) == c.want, "%v", c.from)
	}
}
