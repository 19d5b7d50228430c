package traceid

import (
	"encoding/hex"
	"testing"

	"github.com/seed94657493/warren/proto"
)

// The ids are a part of what clients and servers of different versions agree on: these bytes never change.
func TestGolden(t *testing.T) {
	session := proto.SessionID(0x1000065c0230000)
	id := Of(session, proto.SessionPassword(session), 7)
	if got, want := hex.EncodeToString(id.Trace[:]), "d0b7c0e9f74f5a01340087115450be2c"; got != want {
		t.Errorf("trace %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(id.Root[:]), "3b918c4dbd3d5bd9"; got != want {
		t.Errorf("root %s, want %s", got, want)
	}
}

// Each of the three inputs changes both ids.
func TestInputs(t *testing.T) {
	password := [proto.PasswordSize]byte{1}
	all := map[[16]byte]bool{}
	roots := map[[8]byte]bool{}
	for _, id := range []ID{
		Of(1, password, 1), Of(2, password, 1), Of(1, password, 2), Of(1, [proto.PasswordSize]byte{2}, 1),
	} {
		all[id.Trace], roots[id.Root] = true, true
	}
	if len(all) != 4 || len(roots) != 4 {
		t.Errorf("%d traces and %d roots of 4 operations", len(all), len(roots))
	}
}
