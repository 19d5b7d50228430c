package abuse

import (
	"github.com/seed94657493/warren/test/wire"
)

// floods is what can be done with small requests, and many of them.
func floods() []abuse {
	get, set := wire.GetData("/zookeeper", false), wire.SetData("/zookeeper/quota", nil, -1)
	return []abuse{
		{name: "small reads as fast as they go", memory: 300, run: flood(get)},
		{name: "the same, warren.maxRequestsPerSecond=5000", memory: 300,
			settings: map[string]string{"warren.maxRequestsPerSecond": "5000"}, run: flood(get)},
		{name: "small writes as fast as they go", memory: 900, run: flood(set)},
		{name: "pings as fast as they go", memory: 300, run: flood(wire.Ping())},
		{name: "syncs as fast as they go", memory: 500, run: flood(wire.Sync("/"))},
	}
}

// flood sends one request on as many connections as an address gets, and reads the answers.
func flood(r wire.Request) func(*attack) {
	var b []byte
	for i := range 500 {
		b = frame(b, int32(i), r)
	}
	return func(a *attack) {
		together(a.size(8, 50), func(i int) {
			s := a.begin(1)
			go a.skim(s)
			a.pump(s, b)
		})
	}
}
