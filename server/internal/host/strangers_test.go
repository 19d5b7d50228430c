package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/zab"
)

func TestTwoServersWithOneIDAreNoticed(t *testing.T) {
	type step struct {
		after time.Duration
		link  zab.LinkID
		addr  string
		open  bool // whether the earlier connection is open
		warns string
	}
	for name, steps := range map[string][]step{
		"one server, again and again": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.1:2", false, ""},
			{time.Second, 3, "10.0.0.1:3", false, ""}},
		"one server, whose connection was lost unheard": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.1:2", true, ""}},
		"the same, long after": {
			{0, 1, "10.0.0.1:1", false, ""}, {0, 2, "10.0.0.1:2", true, ""},
			{time.Hour, 3, "10.0.0.1:3", true, ""}},
		"one server with another address": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.9:1", false, ""}},
		"two hosts": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.2:1", true, "10.0.0.1:1"}},
		"two servers of one host": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.1:2", true, ""},
			{time.Second, 3, "10.0.0.1:3", true, "10.0.0.1:2"}},
		"once a minute": {
			{0, 1, "10.0.0.1:1", false, ""}, {time.Second, 2, "10.0.0.2:1", true, "10.0.0.1:1"},
			{time.Second, 3, "10.0.0.1:2", true, ""}, {time.Minute, 4, "10.0.0.2:2", true, "10.0.0.1:2"}},
		"the same message twice": {
			{0, 1, "10.0.0.1:1", false, ""}, {0, 1, "10.0.0.1:1", true, ""}, {0, 1, "10.0.0.1:1", true, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var n introductions
			now := time.Unix(1000, 0)
			for i, s := range steps {
				now = now.Add(s.after)
				other, warns := n.meet(3, s.link, s.addr, func(zab.LinkID) bool { return s.open }, now)
				require.Equal(t, s.warns != "", warns, "step %d", i)
				if warns {
					require.Equal(t, s.warns, other)
				}
				_, warns = n.meet(4, 100, "10.0.0.4:1", func(zab.LinkID) bool { return true }, now)
				require.False(t, warns, "another server")
			}
		})
	}
}
