package ensemble

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
)

// A visitor of one server may mean another one: its charts, its audit log, an order to it. The server that it visits
// passes the request on, as a task. A task is sealed with a key that only the two processes have (see held.go); with
// warren.sessionSecrets they also need to know the secrets. The other server checks the rights of the visitor again,
// by its own settings and its own tree, and answers as if the visitor had come there.
//
// A task counts once, and at once: it has a ticket, which the other server has given a moment ago, in an answer that
// only this one can read. What somebody has recorded on the way does nothing when it is sent again.

// TaskWord is the four-letter word for a task. Behind it stand eight bytes with the id of the server that sends it,
// two with the length of the sealed task, and that. ZooKeeper does not know it.
const TaskWord = "task"

// Bounds of tasks: how many bytes one has in JSON, and its answer; how long a ticket is good for and how many one
// server has; how many tasks are under way, and how long each may take.
const (
	taskMax, taskAnswerMax = 48 << 10, 8 << 20
	ticketLife, ticketsMax = 10 * time.Second, 16
	tasksMax, taskLife     = 8, time.Minute
	ticketSize             = 16
)

// taskUnread is the answer to a task that cannot be opened.
const taskUnread = "it cannot be read"

// Task is a request of a visitor of another server.
type Task struct {
	Ticket []byte          // none asks for one
	Name   string          // of the resource
	Query  string          // its parameters, as in a URL
	Body   []byte          // of the request
	User   string          // empty without a login
	IDs    []auth.Identity // that the visitor has proved to the other server
	Remote netip.AddrPort  // of the visitor
}

// TaskAnswer is the answer to a task, as HTTP has it, or a ticket.
type TaskAnswer struct {
	Ticket  []byte
	Status  int
	Body    []byte
	Refused string // why it has not been carried out, without a body
	// RetryAfter is the header of that name; servers of older versions do not send it.
	RetryAfter string
}

// tasks is what a server does for visitors of the others.
type tasks struct {
	carryOut func(ctx context.Context, from int64, t *Task) *TaskAnswer // nil if nothing does; set before clients come
	places   chan struct{}
	mu       sync.Mutex
	tickets  map[int64][]ticket // by the server that has them, the oldest first
}

type ticket struct {
	text  [ticketSize]byte
	until time.Time
}

// Tasks sets what carries out the tasks from other servers. It is called before clients are served.
func (f *Facts) Tasks(carryOut func(ctx context.Context, from int64, t *Task) *TaskAnswer) {
	f.tasks.carryOut = carryOut
}

// takesTasks returns why this server gives other servers no tasks and takes none of theirs; nil if it does. Servers
// that authenticate each other do not trust the network, and so not the address at which a key was found either: they
// need a secret.
func (f *Facts) takesTasks() error {
	q := &f.Config.Quorum
	switch {
	case f.tasks.carryOut == nil:
		return errNoConsole
	case (q.SSLQuorum || q.QuorumAuth.EnableSASL) && f.front.SessionIDsOpen():
		return errNoSecrets
	}
	return nil
}

// give returns a new ticket for a server.
func (t *tasks) give(id int64, now time.Time) []byte {
	one := ticket{until: now.Add(ticketLife)}
	_, _ = rand.Read(one.text[:]) // never fails
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.tickets[id]
	if len(all) >= ticketsMax {
		all = slices.Delete(all, 0, 1)
	}
	t.tickets[id] = append(all, one)
	return one.text[:]
}

// take reports whether a server has a ticket, which it then has no more.
func (t *tasks) take(id int64, text []byte, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.tickets[id], func(one ticket) bool { return string(one.text[:]) == string(text) })
	if at < 0 {
		return false
	}
	until := t.tickets[id][at].until
	t.tickets[id] = slices.Delete(t.tickets[id], at, at+1)
	return now.Before(until)
}

// TaskFrom carries out the task that the server with an id has sealed, and returns the answer, sealed. Of what that
// server has not sealed for this process it says that it cannot be read, and nil if there is no such server.
func (f *Facts) TaskFrom(id int64, sealed []byte) []byte {
	who, ok := f.heard()[id]
	if !ok || id == int64(f.host.ID) {
		return nil
	}
	asks, tells, err := f.taskSeals(who.Key, id, int64(f.host.ID))
	if err != nil {
		return []byte(taskUnread)
	}
	text, err := asks.Open(nil, nil, sealed, nil)
	var t Task
	if err != nil || json.Unmarshal(text, &t) != nil {
		return []byte(taskUnread)
	}
	return tells.Seal(nil, nil, written(f.carryOutTask(id, &t)), sealed)
}

func (f *Facts) carryOutTask(from int64, t *Task) *TaskAnswer {
	err := f.takesTasks()
	switch {
	case err != nil:
		return taskRefused(http.StatusServiceUnavailable, err.Error())
	case len(t.Ticket) == 0:
		return &TaskAnswer{Ticket: f.tasks.give(from, f.Runtime.Now())}
	case !f.tasks.take(from, t.Ticket, f.Runtime.Now()):
		f.Log.Warn("a request that another server has passed on is refused: it has come before, or too late",
			zap.Int64("server", from), zap.String("request", t.Name[:min(len(t.Name), 64)]),
			zap.Stringer("client_addr", t.Remote))
		return taskRefused(http.StatusConflict, "the request has come before, or too late")
	}
	select {
	case f.tasks.places <- struct{}{}:
		defer func() { <-f.tasks.places }()
	default:
		return taskRefused(http.StatusServiceUnavailable, "it does too much for other servers already")
	}
	ctx, cancel := context.WithTimeout(context.Background(), taskLife)
	defer cancel()
	return f.tasks.carryOut(ctx, from, t)
}

func taskRefused(status int, why string) *TaskAnswer {
	return &TaskAnswer{Status: status, Refused: why}
}

// taskSeals returns what seals the tasks that server from gives to server to, and what seals the answers. This process
// is one of the two, and the other one has a public key.
func (f *Facts) taskSeals(other []byte, from, to int64) (asks, tells cipher.AEAD, err error) {
	const nobody = ^proto.SessionID(0) // the password of no session: known to servers only if there are secrets
	secret := f.front.Password(nobody)
	asks, err = f.keeper.sealBetween(other, secret[:], fmt.Sprintf("warren task of %d for %d", from, to))
	if err == nil {
		tells, err = f.keeper.sealBetween(other, secret[:], fmt.Sprintf("warren answer of %d for %d", to, from))
	}
	return asks, tells, err
}

// untasked returns why a server gets no tasks from this one; nil if it may.
func (f *Facts) untasked(s *findings.Server) error {
	own := f.takesTasks()
	switch {
	case errors.Is(own, errNoSecrets):
		return own
	case s.Silent != "":
		return errors.New(s.Silent)
	case s.Address == "":
		return errNoPort
	case s.Instance == 0:
		return errors.New("it is no server of Warren")
	case !s.Tasks:
		return errNoConsole
	}
	return nil
}

// ErrNoServer says that there is no other server with an id.
var ErrNoServer = errors.New("there is no such server beside this one")

// Task lets another server carry out a task, and returns its answer.
func (f *Facts) Task(ctx context.Context, id int64, t Task) (*TaskAnswer, error) {
	at, ok := f.heard()[id]
	switch {
	case id == int64(f.host.ID):
		return nil, ErrNoServer
	case !ok && f.Config.Distributed() && f.Membership().Member(id) != nil:
		return nil, errNotHeard
	case !ok:
		return nil, ErrNoServer
	}
	if err := f.untasked(&at); err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	given, err := f.sendTask(soon, &at, &Task{})
	switch {
	case err != nil:
		return nil, err
	case len(given.Ticket) == 0:
		return given, nil // why there is none
	}
	t.Ticket = given.Ticket
	return f.sendTask(ctx, &at, &t)
}

var (
	errNoConsole = errors.New("its console is switched off, or it is of an older version")
	errNoSecrets = errors.New("servers that authenticate each other (sslQuorum, quorum.auth.enableSasl) pass on " +
		"nothing without warren.sessionSecrets")
	errNoPort   = errors.New("its client port is not known")
	errNotHeard = errors.New("this server has just started, and has not heard from it yet")
	errNotRead  = errors.New("one of the two servers has just started, or they have different warren.sessionSecrets")
	errTaskLong = errors.New("the request is too long for that")
	errTaskLate = errors.New("it has not answered in time, and may still do what was asked")
)

func (f *Facts) sendTask(ctx context.Context, at *findings.Server, t *Task) (*TaskAnswer, error) {
	own := int64(f.host.ID)
	asks, tells, err := f.taskSeals(at.Key, own, at.ID)
	if err != nil {
		return nil, err
	}
	text := written(t)
	if len(text) > taskMax {
		return nil, errTaskLong
	}
	sealed := asks.Seal(nil, nil, text, nil)
	told, err := f.keeper.askBytes(ctx, at.Address, f.says(TaskWord, string(sealed)), taskAnswerMax)
	switch {
	case errors.Is(err, errLate) && len(t.Ticket) > 0:
		return nil, errTaskLate
	case err != nil:
		return nil, err
	}
	plain, err := tells.Open(nil, nil, told, sealed)
	if err != nil {
		return nil, errNotRead
	}
	answer := new(TaskAnswer)
	if err := json.Unmarshal(plain, answer); err != nil {
		return nil, errors.New("its answer cannot be read")
	}
	return answer, nil
}
