package model_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("model.seed", 0, "replays the run of one seed")
	seedsFlag = flag.Int("model.seeds", 0, "how many seeds to run; 0 is 200, or what ten seconds allow")
	opsFlag   = flag.Int("model.ops", 500, "operations of each run")
)

// TestJudge sends random operations, valid and not, of several sessions to datatree and to the
// model. Replies, errors, events, digests and trees must be equal, and every snapshot taken on the
// way must, with the txns after it, lead to the same state.
func TestJudge(t *testing.T) {
	start := time.Now()
	first, seeds, limit := uint64(start.UnixNano()), *seedsFlag, 24*time.Hour
	switch {
	case *seedFlag != 0:
		first, seeds = *seedFlag, 1
	case seeds == 0:
		seeds, limit = 200, 10*time.Second
	}
	t.Logf("SEED=%d and the %d after it", first, seeds-1)
	seen, done := map[string]int{}, 0
	for seed := first; done < seeds && time.Since(start) < limit; seed++ {
		done++
		if err := run(seed, *opsFlag, nil, seen); err != nil {
			kept := reduce(seed, *opsFlag)
			reduced := run(seed, *opsFlag, kept, nil)
			t.Fatalf("seed %d: %v\n\nreduced to %d operations:\n%v\n\nreplay: go test ./test/model -run TestJudge "+
				"-model.seed=%d -model.ops=%d",
				seed, err.cause, len(kept), reduced, seed, *opsFlag)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%8d %s", seen[outcome], outcome)
	}
	t.Logf("%d seeds", done)
	if done*(*opsFlag) < 100_000 {
		return
	}
	for _, outcome := range outcomes {
		if seen[strings.TrimSpace(outcome)] == 0 {
			t.Errorf("no operation ended in %q: the judge does not ask enough", outcome)
		}
	}
}

// outcomes is what a run of the usual length must meet.
var outcomes = strings.Split(
	`create OK,create BadArguments,create InvalidACL,create NoNode,create NoAuth,create NodeExists,
create NoChildrenForEphemerals,create QuotaExceeded,create SessionExpired,create refused,create2 OK,
createContainer OK,createTTL OK,createTTL BadArguments,createTTL Unimplemented,delete OK,delete BadArguments,
delete NoNode,delete NoAuth,delete BadVersion,delete NotEmpty,setData OK,setData BadArguments,setData NoNode,
setData NoAuth,setData BadVersion,setData QuotaExceeded,setACL OK,setACL InvalidACL,setACL NoNode,setACL NoAuth,
setACL BadVersion,reconfig ReconfigDisabled,reconfig Unimplemented,multi done,multi rolled back,multi empty,
multi refused,multi SessionExpired,createSession OK,closeSession OK,deleteContainer OK,deleteContainer NoNode,
deleteContainer NotEmpty,deleteContainer BadVersion,deleteContainer BadArguments,exists OK,exists NoNode,
exists NoAuth,exists BadArguments,getData OK,getData NoNode,getData NoAuth,getACL OK,getACL NoAuth,getChildren OK,
getChildren2 OK,getAllChildrenNumber OK,getEphemerals OK,multiRead OK,multiRead MarshallingError,addWatch OK,
checkWatches OK,checkWatches NoWatcher,removeWatches OK,removeWatches NoWatcher,setWatches2 OK,NodeCreated,
NodeDeleted,NodeDataChanged,NodeChildrenChanged`, ",")

// failure is a difference between datatree and the model, or a panic of one of them.
type failure struct {
	cause string
	trace []string // what was done, until it happened
}

func (f *failure) Error() string { return strings.Join(f.trace, "\n") + "\n" + f.cause }

// run does the operations of a seed, or only those whose numbers are kept, and adds to seen what
// became of them. Each draws from its own source, so that leaving one out does not change what the
// others draw.
func run(seed uint64, ops int, kept []int, seen map[string]int) (err *failure) {
	w := newWorld(rand.New(rand.NewPCG(seed, 0)))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case difference:
			err = &failure{string(p), w.trace}
		default:
			err = &failure{fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), w.trace}
		}
	}()
	for i := range ops {
		if kept == nil || slices.Contains(kept, i) {
			w.rand = rand.New(rand.NewPCG(seed, uint64(i)+1))
			w.step()
		}
	}
	w.finish()
	for outcome, n := range w.seen {
		if seen != nil {
			seen[outcome] += n
		}
	}
	return nil
}

// reduce leaves out operations, in ever smaller blocks, for as long as the run still fails, and
// returns the numbers of those that remain.
func reduce(seed uint64, ops int) []int {
	kept := make([]int, ops)
	for i := range kept {
		kept[i] = i
	}
	deadline := time.Now().Add(20 * time.Second)
	for block := ops / 2; block >= 1; block /= 2 {
		for at := 0; at < len(kept) && time.Now().Before(deadline); {
			without := slices.Delete(slices.Clone(kept), at, min(at+block, len(kept)))
			if len(without) > 0 && run(seed, ops, without, nil) != nil {
				kept = without
			} else {
				at += block
			}
		}
	}
	return kept
}
