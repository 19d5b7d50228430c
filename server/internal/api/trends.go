package api

import (
	"net/http"
)

// trendViews are the parts of a Server that tell how an ensemble went, and how its other servers are.
type trendViews interface {
	// Trends returns the figures of the server from a time on, in ms since 1970.
	Trends(from int64) *Trends
	// Servers asks the servers of the configuration how they are. They are asked at most once in some seconds.
	Servers() *Servers
}

// Trends are the figures of a server over time, and what happened to it.
type Trends struct {
	EveryMs int64   `json:"everyMs" doc:"from one moment to the next"`
	Times   []int64 `json:"times" doc:"ms since 1970, ascending; a moment is left out while the server did not run"`
	Series  []Trend `json:"series" doc:"the figures"`
	Events  []Event `json:"events" doc:"of the server, the newest first; at most 256"`
}

// Trend is one figure over time.
type Trend struct {
	Name   string     `json:"name" doc:"of the figure, such as reads or p99.sync"`
	Unit   string     `json:"unit" doc:"/s, ms, bytes, or empty for a number"`
	Values []*float64 `json:"values" doc:"one for each of times; null where it is not known"`
}

// Event is something that happened to a server.
type Event struct {
	At   int64  `json:"at" doc:"ms since 1970"`
	Kind string `json:"kind" doc:"start, role, finding, resolved or clients"`
	Text string `json:"text" doc:"what happened"`
}

// Servers are the servers of the configuration as they answer at their client ports.
type Servers struct {
	Servers  []ServerState `json:"servers" doc:"in the order of their ids; empty if the server stands alone"`
	Weighted bool          `json:"weighted" doc:"groups and weights decide, not a majority of voters"`
}

// ServerState is what one server says of itself.
type ServerState struct {
	ID          int64    `json:"id" doc:"myid"`
	Trouble     string   `json:"trouble" doc:"why nothing is known; empty if it has answered"`
	RoundTripMs *float64 `json:"roundTripMs" doc:"for a connection and an answer; null for the server that was asked"`
	State       string   `json:"state" doc:"leader, follower, observer or standalone"`
	Version     string   `json:"version" doc:"of the program"`
	Zxid        string   `json:"zxid" doc:"last txn that it has applied, hexadecimal"`
	Connections int64    `json:"connections" doc:"of clients"`
	Outstanding int64    `json:"outstanding" doc:"requests that it has received and not answered"`
	MeanMs      float64  `json:"meanMs" doc:"mean latency of requests"`
	UptimeMs    *int64   `json:"uptimeMs" doc:"since the process began; null if it does not tell"`
	DiskFree    *int64   `json:"diskFree" doc:"bytes, of the disk with the least room; null if it does not tell"`
}

func trendTable() []*route {
	return []*route{
		{method: "GET", path: "/trends", name: "trends",
			about: "The figures of this server over time, at a resolution that falls with the age, and what " +
				"happened to it. At least a day is kept, in memory.",
			params: []param{{name: "from", about: "ms since 1970; 0 if it is not given", number: true}},
			gives:  Trends{}, serve: (*API).trends},
		{method: "GET", path: "/servers", name: "servers",
			about: "What the servers of the configuration answer at their client ports.", gives: Servers{},
			serve: (*API).servers},
	}
}

func (a *API) trends(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	q := queryOf(r)
	from := q.number("from", 0)
	if q.err != nil {
		return q.err
	}
	return ask(a, w, r, func() (*Trends, error) { return a.o.Server.Trends(from), nil })
}

// servers does not take a place of those that ask this server: it waits for others.
func (a *API) servers(w http.ResponseWriter, _ *http.Request, _ *Visitor) error {
	return answer(w, a.o.Server.Servers())
}
