package visible

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestPermissionsAsText(t *testing.T) {
	for perms := int32(0); perms <= proto.PermAll; perms++ {
		got, ok := Perms(permText(perms))
		require.True(t, ok)
		require.Equal(t, perms, got)
	}
	require.Equal(t, "cdrwa", permText(proto.PermAll))
	for _, text := range []string{"x", "rr", "R", "r w", "\xff"} {
		_, ok := Perms(text)
		require.False(t, ok, "%q", text)
	}
}
