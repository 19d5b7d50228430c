package socket

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The other side is deaf only if it is heard while TCP repeats what it does not acknowledge.
func TestHearing(t *testing.T) {
	type look struct {
		repeats  int
		received uint32
	}
	for name, tt := range map[string]struct {
		looks []look
		deaf  int // the look that says so first, -1 for none
	}{
		"it repeats its own bytes":            {[]look{{0, 5}, {1, 6}, {2, 7}, {2, 7}}, 3},
		"it is heard before the first repeat": {[]look{{0, 5}, {0, 6}, {1, 7}, {2, 8}, {3, 8}, {3, 8}}, 5},
		"it sends much": {[]look{{0, 5}, {0, 50}, {0, 90}, {1, 120}, {2, 140}, {3, 150}, {3, 150}},
			6},
		"it is silent": {[]look{{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 5}, {5, 5}},
			-1},
		"it is silent and then heard once": {[]look{{0, 5}, {3, 5}, {4, 6}, {4, 6}, {5, 6}, {6, 6}, {6, 6}},
			-1},
		"it is silent and then heard before an ack": {[]look{{0, 5}, {3, 5}, {4, 6}, {4, 7}, {4, 8}, {4, 9}}, -1},
		"it is heard, silent and heard": {[]look{{0, 5}, {0, 6}, {1, 6}, {2, 6}, {3, 7}, {3, 8}, {3, 9}},
			-1},
		"one repeat after a silence is not enough": {[]look{{0, 5}, {3, 5}, {4, 6}, {4, 7}, {5, 8}, {5, 9}, {5, 9}},
			-1},
		"two repeats after a silence are": {[]look{{0, 5}, {3, 5}, {4, 6}, {5, 7}, {6, 7}, {6, 7}}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var h Hearing
			require.False(t, h.Deaf(Facts{Acked: 100, Received: 5}))
			deaf := -1
			for i, x := range tt.looks {
				if h.Deaf(Facts{Unacked: 1, Acked: 100, Repeats: x.repeats, Received: x.received}) && deaf < 0 {
					deaf = i
				}
			}
			require.Equal(t, tt.deaf, deaf)
		})
	}
	// Whatever shows that bytes arrive, or cannot, begins anew.
	for name, f := range map[string]Facts{
		"an acknowledgement":    {Unacked: 1, Acked: 101, Repeats: 2, Received: 8},
		"all is acknowledged":   {Acked: 100, Repeats: 2, Received: 8},
		"later bytes arrived":   {Unacked: 2, Sacked: 1, Acked: 100, Repeats: 2, Received: 8},
		"it takes no bytes":     {Unacked: 1, NoWindow: true, Acked: 100, Repeats: 2, Received: 8},
		"the kernel tells none": {},
	} {
		t.Run(name, func(t *testing.T) {
			h := Hearing{last: Facts{Acked: 100}}
			for _, x := range []look{{0, 5}, {1, 6}, {2, 7}} {
				require.False(t, h.Deaf(Facts{Unacked: 1, Acked: 100, Repeats: x.repeats, Received: x.received}))
			}
			require.False(t, h.Deaf(f))
			f.Unacked, f.Sacked, f.NoWindow, f.Repeats, f.Received = 1, 0, false, 3, 9
			require.False(t, h.Deaf(f))
			require.False(t, h.Deaf(f))
		})
	}
}
