package prepare

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// quotaTree makes a quota with the given text of limits on each path.
func (l *pipeline) setQuota(path, limits string) {
	l.t.Helper()
	at := "/zookeeper/quota"
	for _, name := range splitNames(path) {
		at += "/" + name
		if err := l.do(proto.OpCreate, create(at, 0)); err != proto.ErrNodeExists {
			require.Equal(l.t, proto.OK, err)
		}
	}
	r := create(at+"/zookeeper_limits", 0)
	r.Data = []byte(limits)
	l.must(proto.OK, proto.OpCreate, r)
	l.must(proto.OK, proto.OpCreate, create(at+"/zookeeper_stats", 0))
	l.applyAll()
}

func splitNames(path string) (names []string) {
	start := 1
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			names = append(names, path[start:i])
			start = i + 1
		}
	}
	return names
}

func hardLimits(count, bytes int) string {
	return fmt.Sprintf("count=-1,bytes=-1=;byteHardLimit=%d;countHardLimit=%d", bytes, count)
}

func (l *pipeline) sized(path string, size int) *proto.CreateRequest {
	r := create(path, 0)
	r.Data = make([]byte, size)
	return r
}

func (l *pipeline) mustNow(want proto.ErrCode, op proto.OpCode, r encodable) {
	l.t.Helper()
	l.must(want, op, r)
	l.applyAll()
}

func enforcing(c *Config) { c.EnforceQuota = true }

// server-semantics 16.5 scenario 72: the deepest quota counts, and only that one.
func TestQuotaOfTheDeepestPath(t *testing.T) {
	l := newPipeline(t, enforcing)
	for _, path := range []string{"/n", "/n/m", "/nm"} {
		l.mustNow(proto.OK, proto.OpCreate, l.sized(path, 0))
	}
	l.setQuota("/n", hardLimits(3, -1)) // /n and /n/m are there already
	l.setQuota("/n/m", hardLimits(2, -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/n/m/1", 0)) // the second below /n/m
	l.mustNow(proto.ErrQuotaExceeded, proto.OpCreate, l.sized("/n/m/2", 0))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/n/1", 0)) // the third below /n: /n/m/1 was not counted there
	l.mustNow(proto.ErrQuotaExceeded, proto.OpCreate, l.sized("/n/2", 0))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/nm/2", 0)) // only looks like it
	l.mustNow(proto.OK, proto.OpDelete, del("/n/1", -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/n/2", 0))
	l.mustNow(proto.OK, proto.OpDelete, del("/zookeeper/quota/n/zookeeper_limits", -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/n/3", 0))
	l.mustNow(proto.OK, proto.OpDelete, del("/zookeeper/quota/n/m/zookeeper_limits", -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/n/m/3", 0))
}

// The measured examples of server-semantics 8.4.
func TestQuotaOfBytes(t *testing.T) {
	l := newPipeline(t, enforcing)
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b", 3))
	l.setQuota("/b", hardLimits(-1, 1))
	l.mustNow(proto.ErrQuotaExceeded, proto.OpSetData, set("/b", "xx", -1))
	l.mustNow(proto.OK, proto.OpSetData, set("/b", "x", -1))
	l.mustNow(proto.ErrQuotaExceeded, proto.OpSetData, set("/b", "xx", 77)) // before the version
	l.mustNow(proto.ErrBadVersion, proto.OpSetData, set("/b", "y", 77))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/empty", 0))
	l.mustNow(proto.ErrQuotaExceeded, proto.OpCreate, l.sized("/b/x", 1))

	l.mustNow(proto.OK, proto.OpSetData, set("/zookeeper/quota/b/zookeeper_limits", hardLimits(-1, 5), -1)) // at once
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/x", 4))
	// Together in one multi, and pipelined: judged by the applied use, one by one.
	require.Equal(t, []proto.ErrCode{0, proto.ErrQuotaExceeded}, l.multi(new(multiOf).
		add(proto.OpCheck, check("/b", -1)).add(proto.OpCreate, l.sized("/b/y", 1))))
	require.Equal(t, []proto.ErrCode{0, proto.ErrQuotaExceeded}, l.multi(new(multiOf).
		// server-semantics 16.5 scenario 74
		add(proto.OpCreate, l.sized("/b/y", 0)).add(proto.OpSetData, set("/b/y", "1", 0))))
	l.applyAll()
	l.mustNow(proto.OK, proto.OpSetData, set("/b", "", -1))
	l.must(proto.OK, proto.OpCreate, l.sized("/b/z1", 1))
	l.must(proto.OK, proto.OpCreate, l.sized("/b/z2", 1))
	l.applyAll()
	l.mustNow(proto.ErrQuotaExceeded, proto.OpCreate, l.sized("/b/z3", 1))
}

// server-semantics 16.5 scenario 73.
func TestQuotaIsNotEnforcedByDefault(t *testing.T) {
	l := newPipeline(t, nil)
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b", 3))
	l.setQuota("/b", hardLimits(0, 0))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/c", 3))
}

// server-semantics 16.5 scenario 75 and server-semantics 8.6: text that kills a Java server is ignored.
func TestBrokenQuotas(t *testing.T) {
	for _, limits := range []string{"", "garbage", "count", "count=x,bytes=y", "=;=;=", ",,;;"} {
		l := newPipeline(t, enforcing)
		l.mustNow(proto.OK, proto.OpCreate, l.sized("/b", 3))
		l.setQuota("/b", limits)
		l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/c", 3))
	}
	l := newPipeline(t, enforcing)
	l.mustNow(proto.OK, proto.OpCreate, create("/zookeeper/quota/zookeeper_limits", 0))
	l.mustNow(proto.OK, proto.OpSetData, set("/zookeeper/quota/zookeeper_limits", hardLimits(0, 0), -1))
	l.mustNow(proto.OK, proto.OpCreate, create("/zookeeper/quota/zookeeper_stats", 0))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b", 3))

	l.setQuota("/b", hardLimits(2, -1))
	l.mustNow(proto.OK, proto.OpSetData, set("/zookeeper/quota/b/zookeeper_stats", "junk", -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/1", 3))
	l.mustNow(proto.OK, proto.OpSetData,
		&proto.SetDataRequest{Path: proto.Text("/zookeeper/quota/b/zookeeper_limits"), Version: -1})
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/2", 3))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/3", 3))
	l.mustNow(proto.OK, proto.OpSetData, set("/zookeeper/quota/b/zookeeper_limits", hardLimits(0, 0), -1))
	l.mustNow(proto.OK, proto.OpDelete, del("/zookeeper/quota/b/zookeeper_stats", -1))
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/4", 3)) // limits without stats
}

// quotaEvents collects what an operator is told.
type quotaEvents struct{ lines []string }

func (e *quotaEvents) SequenceExhausted([]byte) {}
func (e *quotaEvents) QuotaExceeded(path []byte, hard bool) {
	e.lines = append(e.lines, fmt.Sprint(string(path), " ", hard))
}

func TestQuotaEvents(t *testing.T) {
	events := new(quotaEvents)
	l := newPipeline(t, func(c *Config) { c.EnforceQuota, c.Events = true, events })
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b", 3))
	l.setQuota("/b", "count=1,bytes=-1")
	l.mustNow(proto.OK, proto.OpCreate, l.sized("/b/1", 3))
	l.mustNow(proto.OK, proto.OpSetData, set("/zookeeper/quota/b/zookeeper_limits", hardLimits(2, -1), -1))
	l.mustNow(proto.ErrQuotaExceeded, proto.OpCreate, l.sized("/b/2", 3))
	require.Equal(t, []string{"/b/1 false", "/b/2 true"}, events.lines)
}

func (l *pipeline) reap(want proto.ErrCode, path string) {
	l.t.Helper()
	session := l.session
	l.as(0).must(want, proto.OpDeleteContainer, &proto.PathRequest{Path: proto.Text(path)})
	l.as(session)
}

// server-semantics 16.5 scenario 76: a container goes when it has been used, or never was for too long, and not while
// the create of a child is on its way.
func TestContainersAreReaped(t *testing.T) {
	bothWays(t, nil, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreateContainer, create("/c", 4))
		step()
		l.reap(proto.ErrBadVersion, "/c") // never used, but young
		l.nowMs += 300_000
		l.reap(proto.ErrBadVersion, "/c")
		l.must(proto.OK, proto.OpCreate, create("/c/x", 0))
		step()
		l.reap(proto.ErrNotEmpty, "/c")
		l.must(proto.OK, proto.OpDelete, del("/c/x", 0))
		step()
		l.reap(proto.OK, "/c")
		step()
		l.reap(proto.ErrNoNode, "/c")
		l.must(proto.ErrNoNode, proto.OpCreate, create("/c/y", 0))

		l.must(proto.OK, proto.OpCreateContainer, create("/d", 4))
		step()
		l.nowMs += 300_001
		l.reap(proto.OK, "/d")
		step()
		l.must(proto.OK, proto.OpCreate, create("/d", 0)) // not a container any more
		step()
		l.nowMs += 300_001
		l.reap(proto.ErrBadVersion, "/d")
	})
}

func TestUnusedContainersAreKept(t *testing.T) {
	l := newPipeline(t, func(c *Config) { c.MaxContainerNeverUsedMs = 0 })
	l.must(proto.OK, proto.OpCreateContainer, create("/c", 4))
	l.nowMs += 1 << 40
	l.reap(proto.ErrBadVersion, "/c")
	l.applyAll()
}

// server-semantics 15 hazard 15 and 16.5 scenario 77: a setData in between saves a TTL znode.
func TestTTLZnodesAreReaped(t *testing.T) {
	bothWays(t, func(c *Config) { c.ExtendedTypes = true }, func(t *testing.T, l *pipeline, step func()) {
		l.must(proto.OK, proto.OpCreateTTL, createTTL("/t", 5, 1000))
		step()
		l.nowMs += 1000
		l.reap(proto.ErrBadVersion, "/t")
		l.must(proto.OK, proto.OpSetData, set("/t", "", 0))
		step()
		l.nowMs += 1000
		l.reap(proto.ErrBadVersion, "/t")
		l.must(proto.OK, proto.OpCreate, create("/t/x", 0))
		step()
		l.nowMs++
		l.reap(proto.ErrNotEmpty, "/t")
		l.must(proto.OK, proto.OpDelete, del("/t/x", 0))
		step()
		l.reap(proto.OK, "/t")
	})
}
