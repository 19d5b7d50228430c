package zk_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/zk"
	"github.com/seed94657493/warren/test/must"
)

// A single server is dialled at once after a loss; go-zookeeper waits a second and fails whatever waits.
func TestSingleServerIsDialledAtOnce(t *testing.T) {
	p := newProxy(t)
	c, events := connect(t, p.Addr())
	root := newRoot(t, c)
	for range 5 {
		p.Cut()
		until(t, events, zk.StateDisconnected)
		must.Do2(c.Get(root))(t)
	}
}

// patient is a HostProvider that never gives up.
type patient struct{ addr string }

func (patient) Init([]string) error    { return nil }
func (patient) Len() int               { return 1 }
func (h patient) Next() (string, bool) { return h.addr, false }
func (patient) Connected()             {}

// An operation that waits is not done in the name of another session.
func TestWaitingOperationExpiresWithItsSession(t *testing.T) {
	p := newProxy(t)
	c, events := connect(t, p.Addr(), zk.WithHostProvider(patient{p.Addr()}))
	root := newRoot(t, c)
	session := c.SessionID()
	p.Shut()
	until(t, events, zk.StateDisconnected)
	failed := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		close(began)
		_, err := c.Create(root+"/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		failed <- err
	}()
	<-began
	expire(t, session)
	p.Open()
	until(t, events, zk.StateHasSession)
	if err := receive(t, failed); err != nil { // the goroutine may have been late, and began in the next session
		require.True(t, err == zk.ErrSessionExpired, "%v", err)
	}
}

// Sessions that expire again and again leave neither connections nor goroutines.
func TestExpiryLeavesNoConnection(t *testing.T) {
	p := newProxy(t)
	c, events := connect(t, p.Addr())
	connections := func() int64 {
		stats, ok := zk.FLWSrvr([]string{address}, time.Minute)
		require.True(t, ok)
		return stats[0].Connections
	}
	before := connections()
	for range 3 {
		session := c.SessionID()
		p.Shut()
		until(t, events, zk.StateDisconnected)
		expire(t, session)
		p.Open()
		until(t, events, zk.StateHasSession)
		require.NotEqual(t, session, c.SessionID())
	}
	require.Eventually(t, func() bool { return connections() <= before }, 10*time.Second, 5*time.Millisecond)
}

// Close does not wait for a Dialer, and the connection that it makes after all is closed.
func TestCloseDoesNotWaitForTheDialer(t *testing.T) {
	dialling, release, made := make(chan struct{}), make(chan struct{}), make(chan net.Conn, 1)
	near, far := net.Pipe()
	var once sync.Once
	dialer := zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
		once.Do(func() { close(dialling) })
		<-release
		made <- near
		return near, nil
	})
	c, _ := must.Do2(zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(nil), dialer))(t)
	receive(t, dialling)
	c.Close()
	close(release)
	receive(t, made)
	_ = far.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := far.Read(make([]byte, 1))
	require.Error(t, err)
	require.False(t, errors.Is(err, net.ErrClosed), "closed by the other side")
}

// notes is a Logger that keeps what it is told.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) Printf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

func TestLogger(t *testing.T) {
	var all, bad notes
	p := newProxy(t)
	for _, log := range []*notes{&all, &bad} {
		c, events := connect(t, p.Addr(), zk.WithLogger(log), zk.WithLogInfo(log == &all))
		p.Cut()
		until(t, events, zk.StateHasSession)
		c.SetLogger(nil)
		c.Close()
	}
	for _, want := range []string{"connected to " + p.Addr(), "session 0x", "connection lost"} {
		require.Contains(t, all.text(), want)
	}
	require.NotContains(t, bad.text(), "connected to")
	require.Contains(t, bad.text(), "connection lost")
}

// A provider that looks no names up leaves that to the dialer, each time that a server is dialled.
func TestNamesAreLookedUpByTheDialer(t *testing.T) {
	p := newProxy(t)
	port := must.Port(t, p.Addr())
	c, events := connect(t, "localhost:"+port, zk.WithHostProvider(&zk.SimpleDNSHostProvider{}))
	require.True(t, c.State().IsConnected())
	require.Equal(t, "localhost:"+port, c.Server())
	p.Cut()
	until(t, events, zk.StateDisconnected)
	until(t, events, zk.StateHasSession)
	must.Do2(c.Get("/"))(t)
}

// A container in a Multi is made and said to be made; go-zookeeper cannot read the answer, and reports an error.
func TestContainerInMulti(t *testing.T) {
	c, _ := connect(t, address)
	box := newRoot(t, c) + "/box"
	results, err := c.Multi(&zk.CreateRequest{Path: box, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagContainer})
	require.NoError(t, err)
	require.Equal(t, []zk.MultiResponse{{String: box}}, results)
}

// CreateTTLRequest is an operation here, and refused by a server without extended types. Client is the way to the
// rest.
func TestAdditions(t *testing.T) {
	c, _ := connect(t, address)
	root := newRoot(t, c)
	create := &zk.CreateTTLRequest{Path: root + "/x", Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagTTL, Ttl: 1000}
	results, err := c.Multi(create)
	require.True(t, errors.Is(err, client.ErrUnimplemented), "%v", err)
	require.Len(t, results, 1)
	stat, exists := must.Do2(c.Client().Exists(t.Context(), root))(t)
	require.True(t, exists)
	_, mine := must.Do2(c.Exists(root))(t)
	require.EqualValues(t, stat.Czxid, mine.Czxid)
}

// Many goroutines use one Conn while its connections are cut, and every increment that was acknowledged is there.
func TestManyGoroutinesOverReconnects(t *testing.T) {
	p := newProxy(t)
	c, _ := connect(t, p.Addr())
	direct, _ := connect(t, address)
	root := newRoot(t, direct)
	const goroutines, each = 8, 40
	var acknowledged [goroutines]int
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				path := fmt.Sprintf("%s/%d-%d", root, g, i)
				if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
					acknowledged[g]++
					if _, _, _, err := c.GetW(path); err == nil {
						_, _, _ = c.Exists(path)
					}
				} else if err != zk.ErrConnectionClosed && err != zk.ErrNoServer {
					t.Errorf("create %s: %v", path, err)
				}
				if g == 0 && i%10 == 5 {
					p.Cut()
				}
			}
		})
	}
	all.Wait()
	names, _ := must.Do2(direct.Children(root))(t)
	sum := 0
	for _, n := range acknowledged {
		sum += n
	}
	require.GreaterOrEqual(t, len(names), sum)
	require.Greater(t, sum, goroutines*each/2)
}
