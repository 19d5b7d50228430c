package visible

import (
	"github.com/seed94657493/warren/server/internal/topk"
)

// Activity is how many requests of clients a znode has got at one server since somebody has begun to look.
type Activity struct {
	Enabled bool  `json:"enabled" doc:"by warren.top.enabled"`
	OneIn   int64 `json:"oneIn" doc:"one request of so many is recorded, and counts for all"`
	Trends
}

// Activity returns the reads and writes of a znode, and goes on counting them for ten minutes.
func (n *Shown) Activity(a Actor, path string) (*Activity, error) {
	if _, err := n.Znode(a, path, 0); err != nil {
		return nil, err
	}
	all := &Activity{Trends: Trends{EveryMs: topk.FollowEvery.Milliseconds(), Times: []int64{}, Events: []Event{},
		Series: []Trend{{Name: "reads", Unit: "/s", Values: []*float64{}},
			{Name: "writes", Unit: "/s", Values: []*float64{}}}}}
	if n.front.Top == nil {
		return all, nil
	}
	c := n.front.Top.Follow(path, n.Clock.Now(), n.Runtime.Now().UnixNano())
	all.Enabled, all.OneIn, all.Times = true, c.OneIn, c.Times
	for i := range c.Times {
		all.Series[0].Values = append(all.Series[0].Values, &c.Reads[i])
		all.Series[1].Values = append(all.Series[1].Values, &c.Writes[i])
	}
	return all, nil
}
