package zab

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/defects"
	"github.com/seed94657493/warren/test/must"
)

// scripted are the defects that have a script: testdata/defects/NAME.txt shows the right behaviour, and in a build
// with the overlay of test/defects TestScriptsSeeDefects shows that the defect would change it.
var scripted = []defects.Defect{
	defects.AckBeforeHistory, defects.EpochBeforeHistory, defects.TrafficBeforeUpToDate,
	defects.SnapshotInMemory, defects.AnyAckCounts, defects.VoteBeforeDrain, defects.TruncKeepsMemory,
	defects.WindowHole, defects.DeliverBeforeDurable, defects.NewLeaderBeforeSnap, defects.TruncBlindly,
	defects.RepeatedZxid, defects.EpochBeforeDurable, defects.OwnAckBeforeDurable, defects.AckBeforeDurable,
	defects.EpochPromisedTwice, defects.BlankCounts, defects.BlankForgotten, defects.TruncUncommitted,
	defects.TruncAcrossEpochs, defects.OldLinks, defects.CounterWraps, defects.NewConfigAlone,
	defects.InformBeforeCommit, defects.PromiseUnconfirmed, defects.LeaderYields, defects.HistoriesJoined,
}

// TestScriptsSeeDefects brings back each defect and expects its script to come out differently.
func TestScriptsSeeDefects(t *testing.T) {
	if !defects.Built {
		t.Skip("it takes the overlay of test/defects")
	}
	for _, d := range scripted {
		t.Run(d.String(), func(t *testing.T) {
			text := must.ReadFile(t, "testdata/defects/"+d.String()+".txt")
			got := play(string(text), func(c Config) Config { return with(c, defects.Of(d)) })
			require.NotEqual(t, string(text), got, "the script does not see the defect")
		})
	}
}

// with returns the configuration with some defects. The overlay gives it a body.
func with(c Config, _ defects.Set) Config {
	return c
}
