//go:build systems

package systems

import (
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

var curator = &system{
	entry: entry{
		Name: "curator", Title: "Curator",
		Did: "Three clients take turns under a lock, add to an atomic number, lead one after the other, and each " +
			"keeps an ephemeral znode.",
	},
	limit: 15 * time.Minute, memory: 700,
	run: func(x *run) {
		x.compile("curator/Job.java")
		x.drive(x.java("job", 192, "Job", x.connect()), nil)
	},
}

var kazoo = &system{
	entry: entry{
		Name: "kazoo", Title: "kazoo",
		Did: "Five clients take turns under a lock, put items into a queue and take them, and lead one after the " +
			"other.",
	},
	limit: 15 * time.Minute, memory: 300,
	run: func(x *run) {
		source, err := filepath.Abs("kazoo/job.py")
		require.NoError(x, err)
		x.drive(x.start("job", "env", "PYTHONPATH="+x.lib, "python3", source, x.connect()), nil)
	},
}
