package orders

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Given is an order that was given, or refused.
type Given struct {
	At      int64  `json:"at" doc:"ms since 1970"`
	Order   string `json:"order" doc:"its kind"`
	User    string `json:"user" doc:"who gave it; empty if that is not known"`
	Address string `json:"address" doc:"from where"`
	Via     string `json:"via" doc:"the server that has passed it on, such as server 2; empty if it came here"`
	Request string `json:"request" doc:"what was wanted, as JSON"`
	Refused string `json:"refused" doc:"why it was refused; empty if it was carried out"`
	TookMs  int64  `json:"tookMs" doc:"how long it took"`
}

// givenMax is how many orders are remembered, and requestMax how many bytes of what each wanted.
const givenMax, requestMax = 50, 512

// given are the newest orders, the oldest first. Any goroutine may use it.
type given struct {
	mu  sync.Mutex
	all []Given
}

func (g *given) note(k *Kind, o Order, by Operator, began time.Time, took time.Duration, err error) Given {
	one := Given{At: began.UnixMilli(), Order: k.Name, User: by.User, Address: by.Addr, Via: by.Via,
		TookMs: took.Milliseconds()}
	if text, err := json.Marshal(o); err == nil && len(text) <= requestMax {
		one.Request = string(text)
	}
	if err != nil {
		one.Refused = err.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all = append(g.all, one); len(g.all) > givenMax {
		g.all = slices.Delete(g.all, 0, 1)
	}
	return one
}

// String describes the order in one line: its kind, who gave it, and why it was refused, if it was.
func (g Given) String() string {
	text := "Order " + g.Order
	if g.User != "" {
		text += " by " + g.User
	}
	if g.Via != "" {
		text += ", through " + g.Via
	}
	if g.Refused != "" {
		text += ", refused: " + g.Refused
	}
	return text
}

func (g *given) newest() []Given {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := append([]Given{}, g.all...)
	slices.Reverse(all)
	return all
}
