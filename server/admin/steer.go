package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// The commands in this file change how a server works: POST with a JSON object, and credentials as for a snapshot.
// Each call makes one line in the log. Each may be repeated: the second time it finds everything done. A command that
// changed something runs again after steerPause at the earliest; the interval of snapshots is longer, because each
// costs a disk its time, and would leave a drained server without clients for five minutes.

// steerPause is the least time between two calls of one command that changes something.
const steerPause = time.Second

// steerer is a JSON object that a command takes.
type steerer interface {
	// check returns why the values cannot be meant.
	check() error
	// dry reports whether the command is to change nothing.
	dry() bool
	// steer does what is asked, and returns the fields of the answer. An error says why that was not done.
	steer(n Node) (fields any, err error)
}

// dryRun is the field of commands that can tell what they would do.
type dryRun struct {
	Dry bool `json:"dry_run"`
}

func (d dryRun) dry() bool { return d.Dry }

// steering returns a command. request returns the object with its default values.
func steering(name string, aliases []string, request func() steerer) *command {
	return &command{name: name, aliases: aliases, post: true, auth: true, steers: true,
		run: func(s *Server, r *http.Request) answer { return s.steer(name, r, request()) }}
}

// steer runs a command that steers.
func (s *Server) steer(name string, r *http.Request, o steerer) answer {
	facts := []zap.Field{zap.String("command", name)}
	err := decode(r.Body, o)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		s.logRefusal("command refused", r, append(facts, zap.Error(err))...)
		return answer{status: http.StatusBadRequest, failure: err.Error()}
	}
	if !o.dry() && !s.steered[name].allow(s.o.Now()) {
		s.logRefusal("command refused: it is asked too often", r,
			append(facts, zap.Duration("interval", steerPause))...)
		return answer{status: http.StatusTooManyRequests,
			failure: "asked too often: at most once in " + steerPause.String()}
	}
	fields, err := o.steer(s.o.Node)
	facts = append(facts, zap.Any("request", o))
	if err != nil {
		s.logRefusal("command refused", r, append(facts, zap.Error(err))...)
		return answer{status: http.StatusConflict, failure: err.Error()}
	}
	facts = append(facts, zap.Any("answer", fields), zap.String("client_addr", r.RemoteAddr))
	if o.dry() {
		s.o.Log.Debug("command of an operator, which changes nothing", facts...)
	} else {
		s.o.Log.Info("command of an operator", facts...)
	}
	return answer{fields: fields}
}

// decode reads the object of a request into o. No body is an empty object. An unknown field is an error: an operator
// may have meant dry_run.
func decode(body io.Reader, o steerer) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(o)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err != nil {
		//lint:ignore ST1005 the text is ZooKeeper's
		return fmt.Errorf("Invalid JSON or failed to read request body: %w", err)
	}
	return nil
}

// shedding is the object of shed_connections, ZooKeeper's of 3.10.
type shedding struct {
	Percentage *int `json:"percentage"`
}

func shedConnections() steerer { return new(shedding) }

func (o *shedding) check() error {
	switch {
	case o.Percentage == nil:
		return errNoPercentage
	case *o.Percentage < 0 || *o.Percentage > 100:
		return errPercentage
	}
	return nil
}

func (*shedding) dry() bool { return false }

func (o *shedding) steer(n Node) (any, error) {
	return struct {
		Shed      int `json:"connections_shed"`
		Requested int `json:"percentage_requested"`
	}{n.ShedConnections(*o.Percentage), *o.Percentage}, nil
}

// The texts are ZooKeeper's.
var (
	//lint:ignore ST1005 the text is ZooKeeper's
	errNoPercentage = errors.New("Missing required field: percentage")
	//lint:ignore ST1005 the text is ZooKeeper's
	errPercentage = errors.New("Percentage must be between 0 and 100")
)

const (
	// drainRate is how many connections of a drained server end per second, unless the operator says otherwise.
	drainRate = 100
	// drainRateMax bounds it.
	drainRateMax = 100_000
)

// draining is the object of the command drain.
type draining struct {
	dryRun
	Rate   int  `json:"rate"`
	Resume bool `json:"resume"`
}

func drain() steerer { return &draining{Rate: drainRate} }

func (o *draining) check() error {
	if o.Rate < 1 || o.Rate > drainRateMax {
		return fmt.Errorf("rate must be between 1 and %d connections per second", drainRateMax)
	}
	return nil
}

func (o *draining) steer(n Node) (any, error) {
	rate := o.Rate
	if o.Resume {
		rate = 0
	}
	if err := n.Drain(rate, o.Dry); err != nil {
		return nil, err
	}
	return n.Drained(), nil
}

// Drained is the answer of drain.
type Drained struct {
	Draining bool `json:"draining"`
	Clients  int  `json:"clients"` // connections with a session
	Rate     int  `json:"rate"`    // connections that end per second, at most; 0 unless Draining
}

// handingOver is the object of the command hand_over.
type handingOver struct {
	dryRun
	To *int64 `json:"to"` // id of the server that is to lead
}

func handOver() steerer { return new(handingOver) }

//lint:ignore ST1005 the form is that of ZooKeeper's texts
var errNoHeir = errors.New("Missing required field: to")

func (o *handingOver) check() error {
	if o.To == nil {
		return errNoHeir
	}
	return nil
}

func (o *handingOver) steer(n Node) (any, error) { return n.HandOver(*o.To, o.Dry) }

// HandedOver is the answer of hand_over.
type HandedOver struct {
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Leader int64 `json:"leader"`  // From if nothing was to change
	TookMs int64 `json:"took_ms"` // until this server served clients as a follower
}
