package embed

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
)

// Options describe an ensemble. The zero value is one standalone server in memory.
type Options struct {
	// Servers is how many servers vote; 0 means 1. A single one is standalone, unless there are observers.
	Servers int
	// Observers is how many servers follow without a vote. Their ids come after those that vote.
	Observers int
	// Joiners is how many servers are in no configuration: they follow without a vote, until a reconfiguration
	// adds them. Their ids come last. They need Servers, and reconfigEnabled, which Configure must set at all
	// servers.
	Joiners int
	// ObserverMasters lets observers learn from followers, as long as one takes them. ZooKeeper: observerMasterPort.
	ObserverMasters bool
	// TickTime is ZooKeeper's tickTime; 0 means 100 ms. Session timeouts are at least two ticks, and a leader or
	// follower that is cut off gives up after ten.
	TickTime time.Duration
	// Dir is a directory of the operating system's filesystem for the data; empty keeps it in memory, where no
	// operation waits for a disk.
	Dir string
	// Log receives the logs of all servers, each named by its id; nil drops them.
	Log *zap.Logger
	// Configure, if not nil, may change the configuration of each server before it is started for the first time.
	Configure func(id int, cfg *config.Config)
	// Version is what the four-letter words report; empty is "embedded".
	Version string
	// Program is what the console says that runs, such as "Warren 0.2.0"; empty is "Warren".
	Program string
	// Seed decides which data a loss of power leaves on the disks; 0 draws one.
	Seed uint64
}

// Limits of Options.
const (
	serversMax  = 200
	tickMin     = 20 * time.Millisecond
	tickDefault = 100 * time.Millisecond
)

// Times of an ensemble in ticks, and others. They are short because all servers are in one process.
const (
	initLimit         = 20
	syncLimit         = 10
	notificationMin   = 20 * time.Millisecond
	notificationMax   = 200 * time.Millisecond
	sessionTimeoutMax = time.Minute
)

// validate fills in the defaults.
func (o *Options) validate() error {
	o.Servers = cmp.Or(o.Servers, 1)
	if o.TickTime == 0 {
		o.TickTime = tickDefault
	}
	o.Version = cmp.Or(o.Version, "embedded")
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Seed = cmp.Or(o.Seed, rand.Uint64())
	switch {
	case o.Servers < 0 || o.Observers < 0 || o.Joiners < 0 || o.all() > serversMax:
		return fmt.Errorf("embed: %d servers, %d observers and %d joiners: there is at least 1 server, and %d are "+
			"the most", o.Servers, o.Observers,
			o.Joiners, serversMax)
	case o.TickTime < tickMin:
		return fmt.Errorf("embed: TickTime %v is below %v", o.TickTime, tickMin)
	}
	return nil
}

// all is how many servers there are.
func (o *Options) all() int { return o.Servers + o.Observers + o.Joiners }

// founder reports whether a server is in the first configuration.
func (o *Options) founder(id int) bool { return id <= o.Servers+o.Observers }

// Ports of the servers on the network between them, where each server has an address of its own.
const (
	quorumPort   = 2888
	electionPort = 3888
	masterPort   = 4888 // for observers of a follower
)

// hostOf returns the address of a server on the network between them.
func hostOf(id int) string { return "10.0.0." + strconv.Itoa(id) }

// addressesOf returns the ports of a server on the network between them.
func addressesOf(id int) []string {
	var all []string
	for _, number := range []int{quorumPort, electionPort, masterPort} {
		all = append(all, net.JoinHostPort(hostOf(id), strconv.Itoa(number)))
	}
	return all
}

// config returns the configuration of one server. clients are the client ports, by id.
func (o *Options) config(id int, clients map[int]int) *config.Config {
	c := config.Default()
	c.DataDir = memoryDir
	if o.Dir != "" {
		c.DataDir = filepath.Join(o.Dir, "server-"+strconv.Itoa(id))
	} else {
		c.PreAllocSizeKB, c.DiskWatermark.Bytes = 0, 0
	}
	c.DataLogDir = c.DataDir
	c.ClientPortAddress, c.ClientPort = loopback, clients[id]
	c.TickTime = o.TickTime
	c.MinSessionTimeout, c.MaxSessionTimeout = 2*o.TickTime, max(sessionTimeoutMax, 20*o.TickTime)
	c.MaxClientCnxns = 0
	c.FourLetterWhitelist = []string{"*"}
	c.Admin.Enabled = false
	if o.all() > 1 {
		c.ServerID = int64(id)
		c.InitLimit, c.SyncLimit, c.ConnectToLearnerMasterLimit = initLimit, syncLimit, initLimit
		c.MinNotificationInterval, c.MaxNotificationInterval = notificationMin, notificationMax
		c.ObserverElectionDelay = notificationMin
		c.StandaloneEnabled = false
		if o.ObserverMasters {
			c.ObserverMasterPort = masterPort
		}
		for n := 1; n <= o.all(); n++ {
			if o.founder(n) || n == id {
				c.Members = append(c.Members, o.member(n, clients[n]))
			}
		}
		if id > o.Servers && o.founder(id) {
			c.PeerType = config.Observer
		}
	}
	if o.Configure != nil {
		o.Configure(id, c)
	}
	return c
}

// loopback is the address at which clients are served.
const loopback = "127.0.0.1"

// member returns the server line of a server.
func (o *Options) member(id, clientPort int) config.Member {
	m := config.Member{
		ID:        int64(id),
		Addresses: []config.PeerAddress{{Host: hostOf(id), QuorumPort: quorumPort, ElectionPort: electionPort}},
		Client:    config.HostPort{Host: loopback, Port: clientPort},
		Secure:    config.HostPort{Port: config.PortUnset}, Weight: 1,
	}
	if id > o.Servers && o.founder(id) {
		m.Role = config.Observer
	}
	return m
}
