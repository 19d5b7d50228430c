package orders_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/server/internal/orders"
	"github.com/seed94657493/warren/server/internal/orders/orderstest"
	"github.com/seed94657493/warren/test/must"
)

func kind(t testing.TB, name string) *orders.Kind {
	t.Helper()
	for _, k := range orders.Kinds() {
		if k.Name == name {
			return &k
		}
	}
	t.Fatalf("there is no kind %s", name)
	return nil
}

// give gives an order as JSON, and returns the answer as JSON; or the status and the text of a refusal.
func give(t testing.TB, w *orders.Executor, name, body string) (status int, answer string) {
	t.Helper()
	k := kind(t, name)
	o, err := k.Decode(strings.NewReader(body))
	var fields any
	if err == nil {
		fields, err = w.Do(context.Background(), k, o, orders.Operator{User: "super", Addr: "10.0.0.7:1"})
	}
	if err != nil {
		var refusal *orders.Refusal
		require.ErrorAs(t, err, &refusal)
		return refusal.Status, err.Error()
	}
	text := must.Do(json.Marshal(fields))(t)
	return 200, string(text)
}

// The answers to orders, and what the server was told.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		told       string // empty if the server is told nothing
		answer     string // a part of it
	}{
		{"shed_connections", `{"percentage": 50}`, 200, "shed 50",
			`{"connections_shed":7,"percentage_requested":50}`},
		{"shed_connections", `{"percentage": 50, "dry_run": true}`, 200, "", `"connections_shed":7`},
		{"shed_connections", `{"percentage": 0}`, 200, "shed 0", `"connections_shed":0`},
		{"shed_connections", `{"percentage": 101}`, 400, "", "Percentage must be between 0 and 100"},
		{"shed_connections", `{"percentage": -1}`, 400, "", "Percentage must be between 0 and 100"},
		{"shed_connections", `{"percentage": "all"}`, 400, "", "Invalid JSON or failed to read request body: "},
		{"shed_connections", `{"percentage": 1e400}`, 400, "", "Invalid JSON"},
		{"shed_connections", `{}`, 400, "", "Missing required field: percentage"},
		{"shed_connections", ``, 400, "", "Missing required field: percentage"},
		{"shed_connections", `{"percentage": 5} x`, 400, "", "Invalid JSON"},
		{"shed_connections", `[]`, 400, "", "Invalid JSON"},
		{"shed_connections", `{"percentage": 5, "dryrun": true}`, 400, "", "unknown field"},
		{"drain", ``, 200, "drain 100 false", `{"draining":true,"clients":14,"rate":100}`},
		{"drain", `{"rate": 3}`, 200, "drain 3 false", `"rate":3`},
		{"drain", `{"rate": 3, "dry_run": true}`, 200, "drain 3 true", `"draining":false`},
		{"drain", `{"resume": true}`, 200, "drain 0 false", `"draining":false`},
		{"drain", `{"rate": 0}`, 400, "", "rate must be between 1 and 100000"},
		{"drain", `{"rate": 100001}`, 400, "", "rate must be between 1 and 100000"},
		{"hand_over", `{"to": 2}`, 200, "hand over to 2 false", `{"from":1,"to":2,"leader":2,"took_ms":12}`},
		{"hand_over", `{"to": 2, "dry_run": true}`, 200, "hand over to 2 true", ""},
		{"hand_over", `{"to": 9}`, 409, "hand over to 9 false", "server 9 cannot lead next"},
		{"hand_over", `{}`, 400, "", "Missing required field: to"},
		{"hand_over", `{"to": "2"}`, 400, "", "Invalid JSON"},
		{"end_session", `{"session": "s-1"}`, 200, "end s-1 false",
			`{"label":"s-1","client":"10.0.0.9:4001","timeout_ms":4000,"ephemerals":2,"ended":true}`},
		{"end_session", `{"session": "s-1", "dry_run": true}`, 200, "end s-1 true", `"ended":false`},
		{"end_session", `{"session": "s-2"}`, 409, "end s-2 false", "no such session"},
		{"end_session", `{}`, 400, "", "Missing required field: session"},
		{"end_session", `{"session": "` + strings.Repeat("x", 65) + `"}`, 400, "", "neither an id nor a label"},
		{"log_level", `{"level": "debug"}`, 200, "level debug for 0s", `{"level":"debug","then":"","until":0}`},
		{"log_level", `{"level": "warn", "seconds": 60}`, 200, "level warn for 1m0s", ""},
		{"log_level", `{"level": "debug", "dry_run": true}`, 200, "", `"level":"info"`},
		{"log_level", ``, 200, "", `"level":"info"`},
		{"log_level", `{"level": "loud"}`, 400, "", "level must be debug, info, warn or error"},
		{"log_level", `{"level": "fatal"}`, 400, "", "level must be debug, info, warn or error"},
		{"log_level", `{"level": "info", "seconds": -1}`, 400, "", "seconds must be between 0 and 604800"},
		{"log_level", `{"seconds": 1}`, 400, "", "seconds needs a level"},
		{"take_snapshot", ``, 200, "snapshot", `{"zxid":"0x100000007","bytes":20,"txns":0,"taken":true}`},
		{"take_snapshot", `{"dry_run": true}`, 200, "", `"zxid":"0x100000003","bytes":10,"txns":4,"taken":false`},
	} {
		s := &orderstest.Server{Log: answers.Level{Level: "info"},
			Last: answers.TakenSnapshot{Zxid: "0x100000003", Bytes: 10, Txns: 4}}
		status, answer := give(t, orders.New(orders.Options{Server: s}), c.name, c.body)
		require.Equal(t, c.status, status, "%s %s: %s", c.name, c.body, answer)
		require.Contains(t, answer, c.answer, "%s %s", c.name, c.body)
		require.Equal(t, c.told, strings.Join(s.Told, ","), "%s %s", c.name, c.body)
	}
	status, answer := give(t, orders.New(orders.Options{Server: &orderstest.Server{Alone: true}}), "drain", "")
	require.Equal(t, 409, status, answer)
}

// A snapshot that would have no txn more than the newest one is not written, and does not count for the limit.
func TestSnapshotsAreBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := &orderstest.Server{Last: answers.TakenSnapshot{Zxid: "0x100000003", Txns: 0}}
	w := orders.New(orders.Options{Server: s, SnapshotInterval: time.Minute, Now: func() time.Time { return now }})
	take := func() int {
		now = now.Add(orders.Pause)
		status, _ := give(t, w, "take_snapshot", "")
		return status
	}
	require.Equal(t, 200, take())
	require.Empty(t, s.Told)
	s.Last.Txns = 1
	require.Equal(t, 200, take())
	require.Equal(t, []string{"snapshot"}, s.Told)
	s.Last.Txns = 1
	require.Equal(t, 429, take())
	require.False(t, w.Snapshots.Allow(now), "whichever command asks for it")
	now = now.Add(time.Minute)
	require.Equal(t, 200, take())
	off := orders.New(orders.Options{Server: s, SnapshotsOff: true})
	status, answer := give(t, off, "take_snapshot", "")
	require.Equal(t, 503, status)
	require.Contains(t, answer, "admin.snapshot.enabled")
	require.True(t, (&orders.Interval{}).Allow(now))
}

// An order makes one line in the log, whatever its level is, and may not be given too often unless it changes nothing.
func TestOrdersAreLoggedAndBounded(t *testing.T) {
	core, log := observer.New(zap.ErrorLevel)
	now := time.Unix(1_800_000_000, 0)
	s := &orderstest.Server{}
	w := orders.New(orders.Options{Server: s, Log: zap.New(core), Now: func() time.Time { return now }})
	code := func(name, body string) int { status, _ := give(t, w, name, body); return status }
	require.Equal(t, 200, code("drain", ""))
	require.Equal(t, 429, code("drain", `{"resume": true}`))
	require.Equal(t, 200, code("drain", `{"dry_run": true}`))
	require.Equal(t, 200, code("shed_connections", `{"percentage": 5}`), "each kind has its own limit")
	require.Equal(t, 429, code("shed_connections", `{"percentage": 5}`))
	now = now.Add(orders.Pause)
	require.Equal(t, 200, code("drain", `{"resume": true}`))
	lines := log.All()
	require.Len(t, lines, 3)
	require.Equal(t, "command of an operator", lines[0].Message)
	facts := lines[0].ContextMap()
	require.Equal(t, "drain", facts["command"])
	require.Equal(t, "super", facts["user"])
	require.Equal(t, "10.0.0.7:1", facts["client_addr"])

	var refusal *orders.Refusal
	_, err := orders.New(orders.Options{}).Do(context.Background(), kind(t, "drain"), kind(t, "drain").New(),
		orders.Operator{})
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, 503, refusal.Status, "nothing is steered")
}

// No text makes an order that its checks let through with a value out of bounds.
func FuzzOrders(f *testing.F) {
	for _, body := range []string{``, `{}`, `{"percentage":5}`, `{"rate":1,"resume":true}`, `{"to":-1}`,
		`{"session":"0x1"}`, `{"level":"debug","seconds":9}`, `{"dry_run":true}`, `[]`, `{"rate":1}{`} {
		for i := range orders.Kinds() {
			f.Add(uint8(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		kinds := orders.Kinds()
		k := kinds[int(which)%len(kinds)]
		s := &orderstest.Server{}
		status, answer := give(t, orders.New(orders.Options{Server: s}), k.Name, body)
		require.Contains(t, []int{200, 400, 409}, status, answer)
		require.True(t, status != 400 || len(s.Told) == 0, "a refused order reaches the server: %v", s.Told)
		for _, told := range s.Told {
			require.Less(t, len(told), 100)
		}
	})
}
