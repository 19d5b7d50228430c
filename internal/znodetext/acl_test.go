package znodetext

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

func TestPermissionsAsText(t *testing.T) {
	for perms := int32(0); perms <= proto.PermAll; perms++ {
		got, bad := ParsePerms(Perms(perms))
		require.Empty(t, bad)
		require.Equal(t, perms, got)
	}
	require.Equal(t, "cdrwa", Perms(proto.PermAll))
	for text, want := range map[string]string{"x": "x", "R": "R", "r w": " ", "\xff": "\ufffd"} {
		_, bad := ParsePerms(text)
		require.Equal(t, want, bad)
	}
}
