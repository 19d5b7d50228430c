package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

func TestExitCodes(t *testing.T) {
	_, _, invalid := config.Load("", []string{"tickTime=x"}, nil)
	for want, err := range map[int]error{
		0:  nil,
		1:  errors.New("x"),
		2:  fmt.Errorf("x: %w", invalid),
		3:  fmt.Errorf("x: %w", &server.DataError{Dir: "d", Err: errors.New("x")}),
		10: fmt.Errorf("%w: x", server.ErrDurability),
		14: &server.BindError{Addr: "a", Err: errors.New("x")},
	} {
		require.Equal(t, want, ExitCode(err), "%v", err)
	}
}
