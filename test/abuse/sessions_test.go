package abuse

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// sessions is what can be done with sessions.
func sessions() []abuse {
	return []abuse{
		{name: "sessions opened and closed", memory: 300, run: storm},
		{name: "sessions left to expire", memory: 300, run: abandoned},
		{name: "SASL exchanges without an end", memory: 300, run: saslSteps},
		{name: "ephemerals, all of one session that ends", memory: 600, run: manyEphemerals},
	}
}

// storm opens and closes sessions as fast as it can.
func storm(a *attack) {
	together(8, func(i int) {
		for a.going() {
			s := a.begin(i)
			_, _ = s.Write(frame(nil, 1, wire.CloseSession()))
			_, _ = wire.ReadFrame(s.in)
			a.drop(s.Conn)
		}
	})
}

// abandoned opens sessions as fast as it can, and leaves them to the server.
func abandoned(a *attack) {
	together(8, func(i int) {
		for a.going() {
			a.drop(a.begin(i).Conn)
		}
	})
}

// saslSteps begins exchanges, answers some challenges wrong, and sends tokens that are none.
func saslSteps(a *attack) {
	junk := make([]byte, 4<<10)
	together(8, func(i int) {
		for n := i; a.going(); n++ {
			s := a.begin(i)
			_ = s.SetDeadline(time.Now().Add(5 * time.Second))
			b := frame(nil, 1, wire.Sasl([]byte{}))
			b = frame(b, 2, wire.Sasl(junk[:[]int{0, 1, 100, len(junk)}[n%4]]))
			_, _ = s.Write(b) // the server closes it
			a.skim(s)
			a.drop(s.Conn)
		}
	})
}

// manyEphemerals makes ephemerals, and closes the session.
func manyEphemerals(a *attack) {
	h := a.helper()
	a.fill("/mine", a.size(10_000, 100_000), proto.ModeEphemeral, h)
	require.NoError(a.t, h.CloseSession())
}
