package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto/hostport"
)

// A port that is none is named, and no name server is asked for it.
func TestAskWordNamesAWrongPort(t *testing.T) {
	for _, address := range []string{"zk1:x", "127.0.0.1:65536", "[::1]:http"} {
		_, err := AskWord(t.Context(), address, "srvr", time.Second, nil, 100)
		require.ErrorIs(t, err, hostport.ErrSyntax)
		require.ErrorContains(t, err, "the port is not a number from 0 to 65535")
	}
}
