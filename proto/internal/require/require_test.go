package require

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// recorder notes that an assertion failed, and with which text, and ends the function as a test would end.
type recorder struct {
	failed bool
	text   string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed, r.text = true, fmt.Sprintf(format, args...)
	panic(r)
}

// outcome runs an assertion.
func outcome(assertion func(t T)) (r *recorder) {
	r = &recorder{}
	defer func() {
		if cause := recover(); cause != nil && cause != any(r) {
			panic(cause)
		}
	}()
	assertion(r)
	return r
}

type number int32

var (
	errCause   = errors.New("cause")
	errWrapped = fmt.Errorf("wrapped: %w", errCause)
	noChannel  chan int
)

// filled returns a channel that holds a value.
func filled() chan int {
	c := make(chan int, 1)
	c <- 1
	return c
}

// holding are assertions that hold.
var holding = []func(t T){
	func(t T) { True(t, true) },
	func(t T) { False(t, false) },
	func(t T) { Equal(t, 1, 1) },
	func(t T) { Equal(t, []byte{1}, []byte{1}) },
	func(t T) { Equal(t, map[string][]int{"a": {1}}, map[string][]int{"a": {1}}) },
	func(t T) { NotEqual(t, 1, 2) },
	func(t T) { NotEqual(t, 1, number(1)) },
	func(t T) { EqualValues(t, 1, 1) },
	func(t T) { EqualValues(t, 1, number(1)) },
	func(t T) { EqualValues(t, uint64(1), int8(1)) },
	func(t T) { Less(t, 1, 2) },
	func(t T) { LessOrEqual(t, 2, 2) },
	func(t T) { Greater(t, 2, 1) },
	func(t T) { Zero(t, 0) },
	func(t T) { Zero(t, nil) },
	func(t T) { Zero(t, number(0)) },
	func(t T) { Empty(t, "") },
	func(t T) { Empty(t, nil) },
	func(t T) { Empty(t, map[int]int{}) },
	func(t T) { Empty(t, noChannel) },
	func(t T) { Len(t, "abc", 3) },
	func(t T) { Len(t, filled(), 1) },
	func(t T) { Contains(t, "abc", "bc") },
	func(t T) { Contains(t, []number{1, 2}, number(2)) },
	func(t T) { Contains(t, map[string]int{"a": 0}, "a") },
	func(t T) { NotContains(t, "abc", "x") },
	func(t T) { NoError(t, nil) },
	func(t T) { Error(t, errCause) },
	func(t T) { ErrorIs(t, errWrapped, errCause) },
	func(t T) { EqualError(t, errCause, "cause") },
	func(t T) { ErrorContains(t, errWrapped, "cause") },
}

// broken are assertions that do not hold.
var broken = []func(t T){
	func(t T) { True(t, false) },
	func(t T) { False(t, true) },
	func(t T) { Equal(t, 1, 2) },
	func(t T) { Equal(t, 1, number(1)) },
	func(t T) { Equal(t, []byte(nil), []byte{}) },
	func(t T) { Equal(t, nil, 0) },
	func(t T) { NotEqual(t, 1, 1) },
	func(t T) { EqualValues(t, 1, number(2)) },
	func(t T) { EqualValues(t, -1, uint32(1<<32-1)) },
	func(t T) { EqualValues(t, 256, uint8(0)) },
	func(t T) { EqualValues(t, uint64(1<<63), int64(-1<<63)) },
	func(t T) { EqualValues(t, nil, 0) },
	func(t T) { EqualValues(t, 1, 1.5) },
	func(t T) { Less(t, 2, 2) },
	func(t T) { Less(t, "b", "a") },
	func(t T) { LessOrEqual(t, 3, 2) },
	func(t T) { Greater(t, 2, 2) },
	func(t T) { Zero(t, 1) },
	func(t T) { Empty(t, "x") },
	func(t T) { Empty(t, filled()) },
	func(t T) { Empty(t, 0) },
	func(t T) { Len(t, "abc", 2) },
	func(t T) { Len(t, 3, 3) },
	func(t T) { Contains(t, "abc", "x") },
	func(t T) { Contains(t, []number{1}, 1) },
	func(t T) { Contains(t, map[string]int{"a": 0}, "b") },
	func(t T) { Contains(t, 1, 1) },
	func(t T) { NotContains(t, "abc", "a") },
	func(t T) { NotContains(t, 1, 2) },
	func(t T) { NoError(t, errCause) },
	func(t T) { Error(t, nil) },
	func(t T) { ErrorIs(t, errCause, errWrapped) },
	func(t T) { ErrorIs(t, nil, errCause) },
	func(t T) { EqualError(t, errWrapped, "cause") },
	func(t T) { EqualError(t, nil, "") },
	func(t T) { ErrorContains(t, errCause, "x") },
	func(t T) { ErrorContains(t, nil, "") },
}

func TestAssertions(t *testing.T) {
	for i, assertion := range holding {
		if r := outcome(assertion); r.failed {
			t.Errorf("assertion %d holds, and fails with: %s", i, r.text)
		}
	}
	for i, assertion := range broken {
		if r := outcome(assertion); !r.failed {
			t.Errorf("assertion %d does not hold, and does not fail", i)
		}
	}
}

// The text of a failure has what was got, what was wanted and the note of the test.
func TestTextOfAFailure(t *testing.T) {
	r := outcome(func(t T) { Equal(t, "one", "two", "in round %d", 7) })
	for _, part := range []string{`want "one"`, `got  "two"`, "in round 7"} {
		if !strings.Contains(r.text, part) {
			t.Errorf("%q is not in %q", part, r.text)
		}
	}
	if r := outcome(func(t T) { True(t, false, 42) }); !strings.Contains(r.text, "42") {
		t.Errorf("the note is not in %q", r.text)
	}
}
