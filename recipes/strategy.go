package recipes

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Strategy chooses among the instances of a service, of which there is at least one, in the order of their
// znodes. It may be called concurrently.
type Strategy interface {
	Pick(instances []Instance) Instance
}

// StrategyFunc is a function that is a Strategy.
type StrategyFunc func(instances []Instance) Instance

// Pick calls f.
func (f StrategyFunc) Pick(instances []Instance) Instance { return f(instances) }

// RoundRobin chooses the instances in turn.
func RoundRobin() Strategy {
	var n atomic.Uint64
	return StrategyFunc(func(instances []Instance) Instance {
		return instances[(n.Add(1)-1)%uint64(len(instances))]
	})
}

// Random chooses an instance at random.
func Random() Strategy {
	return StrategyFunc(func(instances []Instance) Instance { return instances[rand.IntN(len(instances))] })
}

// Sticky keeps the instance that another strategy has chosen as long as the instance is listed.
func Sticky(other Strategy) Strategy {
	var mu sync.Mutex
	var id string
	return StrategyFunc(func(instances []Instance) Instance {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range instances {
			if s.ID == id {
				return s
			}
		}
		s := other.Pick(instances)
		id = s.ID
		return s
	})
}
