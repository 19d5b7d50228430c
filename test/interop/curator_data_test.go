//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

func curatorSharedCount(m *meeting) {
	n := recipes.NewCounter(m.c, m.root)
	m.java.do("7", "count %s 7", m.root)
	got := must.Do(n.Add(m.ctx(), 5))(m)
	require.EqualValues(m, 12, got)
	m.java.do("12", "count %s 0", m.root)
	m.java.do("-3", "count %s 0 -3", m.root)
	got = must.Do(n.Get(m.ctx()))(m)
	require.EqualValues(m, -3, got)
}

func curatorSharedValue(m *meeting) {
	v := recipes.NewSharedValue(m.c, m.root)
	m.java.do("seed", "value %s seed", m.root)
	seen := must.Do(v.Seed(m.ctx(), []byte("mine")))(m)
	require.Equal(m, "seed", string(seen.Data))
	m.java.do("java", "value %s seed java", m.root)
	now, isSet := must.Do2(v.TrySet(m.ctx(), seen, []byte("go")))(m)
	require.False(m, isSet, "Java was faster")
	_, isSet = must.Do2(v.TrySet(m.ctx(), now, []byte("go")))(m)
	require.True(m, isSet)
	m.java.do("go", "value %s seed", m.root)
}

func curatorAtomic(m *meeting) {
	long, integer := recipes.NewAtomicLong(m.c, m.root+"-long"), recipes.NewCounter(m.c, m.root+"-integer")
	require.NoError(m, long.Set(m.ctx(), 1<<40))
	m.java.do(fmt.Sprint(1<<40+5), "long %s-long 5", m.root)
	require.EqualValues(m, 1<<40-1, must.Do(long.Add(m.ctx(), -6))(m))
	m.java.do("4", "integer %s-integer 4", m.root)
	require.EqualValues(m, -1, must.Do(integer.Add(m.ctx(), -5))(m))
	m.java.do("-2", "integer %s-integer -1", m.root)
}

func curatorGroupMember(m *meeting) {
	g := recipes.NewGroup(m.c, m.root)
	n := must.Do(g.Join(m.ctx(), "go", []byte("1")))(m)
	m.java.do("", "join %s java 2", m.root)
	for members, err := range g.Follow(m.ctx()) {
		require.NoError(m, err)
		if fmt.Sprintf("%s", members) == "[{go 1} {java 2}]" {
			break
		}
	}
	m.eventually("go=1,java=2", "members %s", m.root)
	require.NoError(m, n.Close(m.ctx()))
	m.eventually("java=2", "members %s", m.root)
}

// eventually asks until the answer is the wanted one: Java reads from a cache.
func (m *meeting) eventually(want, format string, args ...any) {
	m.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := m.ctx(); ; {
		m.java.start(format, args...)
		got := m.java.answer()
		if got == "OK "+want {
			return
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			require.Fail(m, "never so", "want %s, last was %s", want, got)
		}
	}
}

// taken consumes n batches and returns their items.
func (m *meeting) taken(n int, take func() (*recipes.Delivery, error)) string {
	m.Helper()
	var items []string
	for range n {
		d := must.Do(take())(m)
		for _, item := range d.Items {
			items = append(items, string(item))
		}
		require.NoError(m, d.Done(m.ctx()))
	}
	return strings.Join(items, ",")
}

func curatorQueue(m *meeting) {
	q := recipes.NewQueue(m.c, m.root+"/items", m.root+"/locks")
	m.java.do("", "put queue %s - j1", m.root)
	m.java.do("", "put queue %s - j2", m.root)
	require.NoError(m, q.Put(m.ctx(), []byte("g1"), []byte("g2")))
	require.Equal(m, "j1,j2,g1,g2", m.taken(3, func() (*recipes.Delivery, error) { return q.Take(m.ctx()) }))
	for _, item := range []string{"a", "b"} {
		require.NoError(m, q.Put(m.ctx(), []byte(item)))
	}
	require.NoError(m, q.Put(m.ctx(), []byte("c"), []byte("d")))
	m.java.do("a,b,c,d", "take queue %s 4 3", m.root)
	m.awaitChildren(m.root+"/items", 0)

	// What Go is at Java leaves alone.
	require.NoError(m, q.Put(m.ctx(), []byte("mine")))
	d := must.Do(q.Take(m.ctx()))(m)
	require.NoError(m, q.Put(m.ctx(), []byte("free")))
	m.java.do("free", "take queue %s 1 1", m.root)
	require.NoError(m, d.Context().Err())
	require.NoError(m, d.Done(m.ctx()))
}

func curatorPriorityQueue(m *meeting) {
	q := recipes.NewPriorityQueue(m.c, m.root+"/items", m.root+"/locks")
	m.java.do("", "put priority %s 5 five", m.root)
	m.java.do("", "put priority %s -2 minus", m.root)
	require.NoError(m, q.Put(m.ctx(), 0, []byte("zero")))
	m.java.do("", "put priority %s 0 later", m.root)
	require.Equal(m, "minus,zero,later,five", m.taken(4, func() (*recipes.Delivery, error) { return q.Take(m.ctx()) }))
	for _, priority := range []int32{3, -3, 0, 2147483647, -2147483648} {
		require.NoError(m, q.Put(m.ctx(), priority, fmt.Append(nil, priority)))
	}
	m.java.do("-2147483648,-3,0,3,2147483647", "take priority %s 5 5", m.root)
	m.awaitChildren(m.root+"/items", 0)
}

func curatorDelayQueue(m *meeting) {
	q := recipes.NewDelayQueue(m.c, m.root+"/items", m.root+"/locks")
	soon := time.Now().Add(500 * time.Millisecond).Truncate(time.Millisecond)
	m.java.do("", "put delay %s %d soon", m.root, soon.UnixMilli())
	m.java.do("", "put delay %s 1000 past", m.root)
	m.java.do("", "put delay %s %d never", m.root, soon.Add(time.Hour).UnixMilli())
	require.Equal(m, "past,soon", m.taken(2, func() (*recipes.Delivery, error) { return q.Take(m.ctx()) }))
	require.False(m, time.Now().Before(soon))
	require.Equal(m, 1, must.Do(q.Len(m.ctx()))(m))
	soon = time.Now().Add(500 * time.Millisecond)
	require.NoError(m, q.Put(m.ctx(), soon, []byte("go")))
	m.java.do("go", "take delay %s 1 1", m.root)
	require.False(m, time.Now().Before(soon))
}

func curatorDiscovery(m *meeting) {
	d := recipes.NewDiscovery(m.c, m.root)
	uri := must.Do(recipes.ParseURISpec("{scheme}://{address}:{ssl-port}/{name}/{id}"))(m)
	mine := must.Do(d.Register(m.ctx(),
		recipes.Instance{Name: "web", ID: "go", Address: "10.0.0.2", Port: 80, SSLPort: 443, URI: uri,
			Payload: json.RawMessage(`{"@class":"Agent$Payload","zone":"z2","weight":4}`)}))(m)
	m.java.do("", "register %s web java DYNAMIC 8080", m.root)
	m.java.do("", "register %s web numbered DYNAMIC_SEQUENTIAL 8081", m.root)
	m.java.do("", "register %s mail fixed STATIC 25", m.root)
	m.java.do("mail,web", "names %s", m.root)
	m.java.do("go|10.0.0.2|80|443|DYNAMIC|true|z24|https://10.0.0.2:443/web/go,"+
		"java|10.0.0.1|8080|null|DYNAMIC|true|z13|http://10.0.0.1:8080/java,"+
		"numbered|10.0.0.1|8081|null|DYNAMIC_SEQUENTIAL|true|z13|http://10.0.0.1:8081/java", "query %s web", m.root)
	m.java.do("go", "pick %s web go", m.root)

	require.Equal(m, []string{"mail", "web"}, must.Do(d.Services(m.ctx()))(m))
	instances := must.Do(d.Instances(m.ctx(), "web"))(m)
	require.Len(m, instances, 3)
	require.Equal(m, "java", instances[1].ID)
	require.Equal(m, "http://10.0.0.1:8080/java", instances[1].BuildURI(nil))
	require.JSONEq(m, `{"@class":"Agent$Payload","zone":"z1","weight":3}`, string(instances[1].Payload))
	require.Equal(m, recipes.DynamicSequential, instances[2].Type)

	p := must.Do(d.Provider(m.ctx(), "web", recipes.RoundRobin()))(m)
	defer p.Close()
	require.Len(m, p.Instances(), 3)
	m.java.do("", "unregister %s java", m.root)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := m.ctx(); len(p.Instances()) != 2; {
		select {
		case <-tick.C:
		case <-limit.Done():
			require.Fail(m, "the instance of Java is still listed")
		}
	}
	require.NoError(m, mine.Update(m.ctx(), recipes.Instance{Address: "10.0.0.3", Port: 80, Disabled: true}))
	m.eventually("go|10.0.0.3|80|null|DYNAMIC|false|null|null,"+
		"numbered|10.0.0.1|8081|null|DYNAMIC_SEQUENTIAL|true|z13|http://10.0.0.1:8081/java", "query %s web", m.root)
	require.NoError(m, mine.Close(m.ctx()))
	m.java.do("numbered|10.0.0.1|8081|null|DYNAMIC_SEQUENTIAL|true|z13|http://10.0.0.1:8081/java",
		"query %s web", m.root)
}
