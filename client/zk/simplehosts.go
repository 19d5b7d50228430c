package zk

import (
	"slices"
	"sync"
)

// SimpleDNSHostProvider walks through the servers as they were given to Connect, in a random order. The Dialer
// looks up a name each time that it dials the server; so the name need not exist yet when Connect is called.
// Forks of go-zookeeper have such a provider. The zero value is ready for use. The methods may be called
// concurrently.
type SimpleDNSHostProvider struct {
	mu      sync.Mutex
	servers []string
	at      int // index of the server that Next returns
	tried   int // how many servers Next has returned since Init or Connected
}

// Init takes the servers, and never fails.
func (hp *SimpleDNSHostProvider) Init(servers []string) error {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.servers, hp.at, hp.tried = slices.Clone(servers), 0, 0
	return nil
}

// Len returns how many servers there are.
func (hp *SimpleDNSHostProvider) Len() int {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	return len(hp.servers)
}

// Next returns the next server.
func (hp *SimpleDNSHostProvider) Next() (server string, retryStart bool) {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	if retryStart = hp.tried == len(hp.servers); retryStart {
		hp.tried = 0
	}
	server = hp.servers[hp.at]
	hp.at, hp.tried = (hp.at+1)%len(hp.servers), hp.tried+1
	return server, retryStart
}

// Connected begins a new walk.
func (hp *SimpleDNSHostProvider) Connected() {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.tried = 0
}
