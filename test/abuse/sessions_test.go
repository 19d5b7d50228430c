package abuse

import (
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// sessions is what can be done with sessions.
func sessions() []abuse {
	return []abuse{
		{name: "sessions opened and closed", memory: 300, run: storm},
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

// manyEphemerals makes ephemerals, and closes the session.
func manyEphemerals(a *attack) {
	h := a.helper()
	a.fill("/mine", a.size(10_000, 100_000), proto.ModeEphemeral, h)
	if err := h.CloseSession(); err != nil {
		a.t.Error(err)
	}
}
