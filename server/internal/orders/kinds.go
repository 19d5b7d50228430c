package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/internal/answers"
)

// The orders. The tag doc of a field is its description in the documents of the API. The fields have the names of
// ZooKeeper's command shed_connections of 3.10, and names of that form.

// Kinds returns every kind of orders, by name.
func Kinds() []Kind {
	all := []Kind{
		{Name: "drain", About: "Sends the clients of this server to the others, or takes clients again.",
			New: func() Order { return &Drain{Rate: drainRate} }, Gives: answers.Drained{}},
		{Name: "end_session", About: "Ends a session, as if its client had been silent for its timeout.",
			New: func() Order { return new(EndSession) }, Gives: answers.EndedSession{}},
		{Name: "hand_over", About: "Hands the leadership from this server to another one, without an election.",
			New: func() Order { return new(HandOver) }, Gives: answers.HandedOver{}},
		{Name: "log_level", About: "Changes the level of this server's log, for a time or until its end.",
			New: func() Order { return new(LogLevel) }, Gives: answers.Level{}},
		{Name: "shed_connections", Aliases: []string{"shed"},
			About: "Ends the connections of a share of this server's clients, which then spread over the servers.",
			New:   func() Order { return new(Shed) }, Gives: answers.ShedConnections{}},
		{Name: "take_snapshot", About: "Writes a snapshot of this server's state to its disk.",
			New: func() Order { return new(TakeSnapshot) }, Gives: answers.TakenSnapshot{}},
	}
	for i := range all {
		all[i].Takes = reflect.Zero(reflect.TypeOf(all[i].New()).Elem()).Interface()
	}
	return all
}

// Shed is the order shed_connections.
type Shed struct {
	Percentage *int `json:"percentage" doc:"share of the clients whose connections end, 0 to 100"`
	Dry        bool `json:"dry_run" doc:"change nothing"`
}

// The texts are ZooKeeper's.
var (
	//lint:ignore ST1005 the text is ZooKeeper's
	errNoPercentage = errors.New("Missing required field: percentage")
	//lint:ignore ST1005 the text is ZooKeeper's
	errPercentage = errors.New("Percentage must be between 0 and 100")
)

func (o *Shed) check() error {
	switch {
	case o.Percentage == nil:
		return errNoPercentage
	case *o.Percentage < 0 || *o.Percentage > 100:
		return errPercentage
	}
	return nil
}

func (o *Shed) dry() bool { return o.Dry }

func (o *Shed) done(s Server) bool { return *o.Percentage == 0 || s.Clients() == 0 }

func (o *Shed) carryOut(_ context.Context, w *Executor) (any, error) {
	n := 0
	if o.Dry {
		n = (w.o.Server.Clients()**o.Percentage + 50) / 100
	} else {
		n = w.o.Server.Shed(*o.Percentage)
	}
	return answers.ShedConnections{Shed: n, Requested: *o.Percentage}, nil
}

const (
	// drainRate is how many connections of a drained server end per second, unless the operator says otherwise.
	drainRate = 100
	// drainRateMax bounds it.
	drainRateMax = 100_000
)

// Drain is the order drain.
type Drain struct {
	Rate   int  `json:"rate" doc:"connections that end per second, 100 if it is not given"`
	Resume bool `json:"resume" doc:"take clients again"`
	Dry    bool `json:"dry_run" doc:"change nothing"`
}

func (o *Drain) check() error {
	if o.Rate < 1 || o.Rate > drainRateMax {
		return fmt.Errorf("rate must be between 1 and %d connections per second", drainRateMax)
	}
	return nil
}

func (o *Drain) dry() bool { return o.Dry }

func (o *Drain) done(s Server) bool {
	now := s.Drained()
	return now.Draining != o.Resume && (o.Resume || now.Rate == o.Rate)
}

func (o *Drain) carryOut(_ context.Context, w *Executor) (any, error) {
	rate := o.Rate
	if o.Resume {
		rate = 0
	}
	if err := w.o.Server.Drain(rate, o.Dry); err != nil {
		return nil, err
	}
	return w.o.Server.Drained(), nil
}

// HandOver is the order hand_over.
type HandOver struct {
	To  *int64 `json:"to" doc:"myid of the server that is to lead"`
	Dry bool   `json:"dry_run" doc:"change nothing"`
}

//lint:ignore ST1005 the form is that of ZooKeeper's texts
var errNoHeir = errors.New("Missing required field: to")

func (o *HandOver) check() error {
	if o.To == nil {
		return errNoHeir
	}
	return nil
}

func (o *HandOver) dry() bool { return o.Dry }

func (o *HandOver) done(Server) bool { return false }

func (o *HandOver) carryOut(_ context.Context, w *Executor) (any, error) {
	return w.o.Server.HandOver(*o.To, o.Dry)
}

// EndSession is the order end_session.
type EndSession struct {
	Session string `json:"session" doc:"its id, or its label at this server"`
	Dry     bool   `json:"dry_run" doc:"change nothing"`
}

// sessionMax bounds the text that names a session.
const sessionMax = 64

//lint:ignore ST1005 the form is that of ZooKeeper's texts
var errNoSession = errors.New("Missing required field: session")

func (o *EndSession) check() error {
	switch {
	case o.Session == "":
		return errNoSession
	case len(o.Session) > sessionMax:
		return errors.New("session is neither an id nor a label")
	}
	return nil
}

func (o *EndSession) dry() bool { return o.Dry }

func (o *EndSession) done(Server) bool { return false }

func (o *EndSession) carryOut(_ context.Context, w *Executor) (any, error) {
	return w.o.Server.EndSession(o.Session, o.Dry)
}

// LogLevel is the order log_level.
type LogLevel struct {
	Level   string `json:"level" doc:"debug, info, warn or error; empty only asks"`
	Seconds int    `json:"seconds" doc:"after which the former level returns; 0 for never"`
	Dry     bool   `json:"dry_run" doc:"change nothing"`
}

// levelMax bounds the time for which a level is changed.
const levelMax = 7 * 24 * time.Hour

func (o *LogLevel) level() (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(o.Level)
	if err != nil || level > zapcore.ErrorLevel {
		return level, errors.New("level must be debug, info, warn or error")
	}
	return level, nil
}

func (o *LogLevel) check() error {
	if most := int(levelMax / time.Second); o.Seconds < 0 || o.Seconds > most {
		return fmt.Errorf("seconds must be between 0 and %d", most)
	}
	if o.Level == "" && o.Seconds != 0 {
		return errors.New("seconds needs a level")
	}
	_, err := o.level() // no text is info
	return err
}

func (o *LogLevel) dry() bool { return o.Dry || o.Level == "" }

func (o *LogLevel) done(s Server) bool {
	now := s.LogLevel()
	return o.Seconds == 0 && now.Then == "" && now.Level == o.Level
}

func (o *LogLevel) carryOut(_ context.Context, w *Executor) (any, error) {
	if !o.dry() {
		level, err := o.level()
		if err == nil {
			err = w.o.Server.SetLogLevel(level, time.Duration(o.Seconds)*time.Second)
		}
		if err != nil {
			return nil, err
		}
	}
	return w.o.Server.LogLevel(), nil
}

// TakeSnapshot is the order take_snapshot.
type TakeSnapshot struct {
	Dry bool `json:"dry_run" doc:"change nothing, and tell the newest snapshot"`
}

func (*TakeSnapshot) check() error { return nil }

func (o *TakeSnapshot) dry() bool { return o.Dry }

func (o *TakeSnapshot) done(s Server) bool {
	last := s.LastSnapshot()
	return last.Zxid != "" && last.Txns == 0
}

// carryOut writes nothing if the newest snapshot has every txn.
func (o *TakeSnapshot) carryOut(ctx context.Context, w *Executor) (any, error) {
	switch last := w.o.Server.LastSnapshot(); {
	case w.o.SnapshotsOff:
		return nil, &Refusal{Status: http.StatusServiceUnavailable,
			Err: errors.New("snapshots on command are switched off: admin.snapshot.enabled")}
	case o.Dry, o.done(w.o.Server):
		return last, nil
	}
	if wait := w.Snapshots.Wait(w.o.Now()); wait > 0 {
		return nil, tooOften(w.Snapshots.Every, wait)
	}
	return w.o.Server.TakeSnapshot(ctx)
}

// State is what the server says before it is steered.
type State struct {
	Drained  answers.Drained       `json:"drained" doc:"how far the draining is"`
	Level    answers.Level         `json:"log_level" doc:"of the log"`
	Snapshot answers.TakenSnapshot `json:"snapshot" doc:"the newest one"`
	Given    []Given               `json:"given" doc:"the newest 50 orders since the server began that were to change something, the newest first"`
}

// State returns what may be steered, as it is now.
func (w *Executor) State() State {
	s := w.o.Server
	return State{Drained: s.Drained(), Level: s.LogLevel(), Snapshot: s.LastSnapshot(),
		Given: w.given.newest()}
}
