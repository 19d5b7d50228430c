//go:build systems

package systems

import (
	"time"

	"github.com/seed94657493/warren/test/must"
)

var curator = &system{
	entry: entry{
		Name: "curator", Title: "Curator",
		Did: "Three clients take turns under a lock, add to an atomic number, lead one after the other, and each " +
			"keeps an ephemeral znode. Of two more, with Curator's own settings, one leads by a LeaderLatch and one " +
			"by a LeaderSelector for the whole run.",
		Set: []string{
			"`leaderServes=no` at the servers, as in this run: leadership is given up when the connection is lost, " +
				"and with this setting no client is connected to the leader. A server with clients that was elected " +
				"hands over to one without after `warren.priorityPauseMs` (2 s here), for which a kill waits. In a " +
				"run whose kills didn't wait, each leadership was given up once.",
		},
	},
	limit: 15 * time.Minute, kills: 20, memory: 700, settings: apart,
	run: func(x *run) {
		x.compile("curator/Job.java")
		x.drive(x.java("job", 192, "Job", x.connect()), nil)
	},
}

var kazoo = &system{
	entry: entry{
		Name: "kazoo", Title: "kazoo",
		Did: "Five clients take turns under a lock, put items into a queue and take them, and lead one after the " +
			"other. Of two more, with kazoo's own settings, one leads by an Election for the whole run, and gives " +
			"the leadership up when its connection is suspended.",
		Set: []string{
			"`leaderServes=no` at the servers, as in this run: with this setting no client is connected to the " +
				"leader.",
		},
	},
	limit: 15 * time.Minute, kills: 20, memory: 300, settings: apart,
	run: func(x *run) {
		source := must.Abs(x, "kazoo/job.py")
		x.drive(x.start("job", "env", "PYTHONPATH="+x.lib, "python3", source, x.connect()), nil)
	},
}
