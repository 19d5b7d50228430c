// Package answers has the records that admin commands answer with, for the servers that write them and the command
// line that reads them. The tag doc of a field is its description in the documents of the API. Pure.
package answers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Top is the answer to top. Lists that the server hides are nil.
type Top struct {
	Enabled       bool       `json:"enabled"`
	Everything    bool       `json:"-"`
	By            string     `json:"by"`
	WindowSeconds int        `json:"window_s"`
	OneIn         int64      `json:"sampled_one_in"`
	Total         TopSums    `json:"total"`
	Operations    []TopEntry `json:"operations"`
	Paths         []TopEntry `json:"paths"`
	Sessions      []TopEntry `json:"sessions"`
	Addresses     []TopEntry `json:"addresses"`
}

// Lists are the lists, in the order of the record.
func (t *Top) Lists() []*[]TopEntry {
	return []*[]TopEntry{&t.Operations, &t.Paths, &t.Sessions, &t.Addresses}
}

// Add makes an empty Top the sum of what servers tell, with the first most keys of each kind, in the order of t.By. A
// key that is the first of all need not be the first of one. A list that no server tells is nil.
func (t *Top) Add(told []*Top, most int) {
	for _, o := range told {
		t.Enabled, t.OneIn, t.Total = t.Enabled || o.Enabled, max(t.OneIn, o.OneIn), t.Total.Plus(o.Total)
	}
	for i, list := range t.Lists() {
		sums := map[string]TopSums{}
		for _, o := range told {
			of := *o.Lists()[i]
			if of != nil && *list == nil {
				*list = []TopEntry{}
			}
			for _, e := range of {
				sums[e.Key] = sums[e.Key].Plus(e.TopSums)
			}
		}
		for key, sum := range sums {
			*list = append(*list, TopEntry{key, sum})
		}
		slices.SortFunc(*list, func(a, b TopEntry) int {
			return cmp.Or(cmp.Compare(b.by(t.By), a.by(t.By)), cmp.Compare(a.Key, b.Key))
		})
		*list = (*list)[:min(most, len(*list))]
	}
}

// TopSums is what requests cost in each second.
type TopSums struct {
	Requests float64 `json:"requests" doc:"a second"`
	Bytes    float64 `json:"bytes" doc:"a second, of requests and replies"`
	Millis   float64 `json:"ms" doc:"a second: of reads their execution, of writes from their arrival until they are applied"`
}

// Plus returns the sum.
func (s TopSums) Plus(o TopSums) TopSums {
	return TopSums{s.Requests + o.Requests, s.Bytes + o.Bytes, s.Millis + o.Millis}
}

// by returns the figure of that name: requests, bytes or time.
func (s TopSums) by(name string) float64 {
	switch name {
	case "bytes":
		return s.Bytes
	case "time":
		return s.Millis
	}
	return s.Requests
}

// TopEntry is a key with what its requests cost in each second.
type TopEntry struct {
	Key string `json:"key" doc:"what the requests have in common"`
	TopSums
}

// Slow is the answer to slow.
type Slow struct {
	ThresholdMs float64         `json:"threshold_ms"`
	Found       int             `json:"found"`
	Operations  []SlowOperation `json:"operations"`
}

// SlowOperation is an operation that took long. What is not known or not told is left out.
type SlowOperation struct {
	Began     int64       `json:"began"`
	Operation string      `json:"operation"`
	Path      string      `json:"path,omitempty"`
	Session   string      `json:"session,omitempty"`
	Zxid      string      `json:"zxid,omitempty"`
	Error     string      `json:"error,omitempty"`
	Millis    float64     `json:"ms"`
	Slowest   string      `json:"slowest"`
	Stages    StageMillis `json:"stages"`
	Trace     string      `json:"trace,omitempty"`
}

// StageMillis is how long the stages of an operation took, in ms. Their sum is the whole time.
type StageMillis struct {
	Queue   float64 `json:"queue" doc:"until a turn has begun with it"`
	Prepare float64 `json:"prepare" doc:"at a leader: until log and learners had got its txn"`
	Forward float64 `json:"forward" doc:"at a learner: until its txn came from the leader"`
	Sync    float64 `json:"sync" doc:"until the log of this server had the txn"`
	Quorum  float64 `json:"quorum" doc:"until a quorum had it"`
	Apply   float64 `json:"apply" doc:"until it was applied; of a read its execution"`
	Socket  float64 `json:"socket" doc:"until the reply was handed to the socket"`
}

// String lists the stages that took time, in their order.
func (m StageMillis) String() string {
	var parts []string
	for _, stage := range []struct {
		name string
		ms   float64
	}{{"queue", m.Queue}, {"prepare", m.Prepare}, {"forward", m.Forward}, {"sync", m.Sync}, {"quorum", m.Quorum},
		{"apply", m.Apply}, {"socket", m.Socket}} {
		if stage.ms >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %.1f", stage.name, stage.ms))
		}
	}
	return strings.Join(parts, ", ")
}
