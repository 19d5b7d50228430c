package prepare

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/seed94657493/warren/proto"
)

// BenchmarkLargeMulti is the processor time of the largest multis: of their preparation, which delays other
// writes, and of their application, which delays all requests.
func BenchmarkLargeMulti(b *testing.B) {
	good, bad, made := new(multiOf), new(multiOf), new(multiOf)
	for i := range 20_000 {
		good.add(proto.OpSetData, set("/zookeeper/quota", "", -1))
		bad.add(proto.OpCreate, create(fmt.Sprintf("/m%d", i), 0))
	}
	bad.add(proto.OpCheck, check("/none", 0))
	for i := range 10_000 {
		made.add(proto.OpCreate, create(fmt.Sprintf("/bench/m%d", i), 0))
	}
	for i := range 10_000 {
		made.add(proto.OpDelete, del(fmt.Sprintf("/bench/m%d", i), -1))
	}
	for _, c := range []struct {
		name string
		body []byte
	}{{"sets", good.AppendTo(nil)}, {"fails", bad.AppendTo(nil)}, {"creates and deletes", made.AppendTo(nil)}} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			load := newPrepareLoad(b)
			var preparing, applying time.Duration
			load.prepare(proto.OpMulti, c.body)
			load.apply()
			for b.Loop() {
				from := threadTime()
				load.prepare(proto.OpMulti, c.body)
				preparing += threadTime() - from
				from = threadTime()
				load.apply()
				applying += threadTime() - from
			}
			b.ReportMetric(float64(preparing.Microseconds())/1000/float64(b.N), "prepare-cpu-ms/op")
			b.ReportMetric(float64(applying.Microseconds())/1000/float64(b.N), "apply-cpu-ms/op")
		})
	}
}
