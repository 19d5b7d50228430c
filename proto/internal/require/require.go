// Package require has the assertions that the tests of this module use: an assertion that fails ends its test.
//
// The module must not require another module, and a library of assertions would be one. The functions have the
// names and the order of arguments that Go programmers know from testify. The modules proto and client have a copy
// each, since neither may see the internal packages of the other; test/arch keeps the copies equal. What only client
// uses is in other files.
package require

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// T is the part of testing.TB that the assertions need.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check ends the test unless ok. The note is a format with its arguments, or one value.
func check(t T, ok bool, note []any, format string, args ...any) {
	t.Helper()
	if ok {
		return
	}
	text := fmt.Sprintf(format, args...)
	if len(note) == 1 {
		text += "\n" + fmt.Sprint(note[0])
	} else if len(note) > 1 {
		text += "\n" + fmt.Sprintf(note[0].(string), note[1:]...)
	}
	t.Fatalf("%s", text)
}

// True wants a condition.
func True(t T, got bool, note ...any) {
	t.Helper()
	check(t, got, note, "false, and should be true")
}

// False wants the opposite of a condition.
func False(t T, got bool, note ...any) {
	t.Helper()
	check(t, !got, note, "true, and should be false")
}

// Equal wants the same type and, at any depth, the same value. A nil slice is not an empty one.
func Equal(t T, want, got any, note ...any) {
	t.Helper()
	check(t, reflect.DeepEqual(want, got), note, "got  %#v\nwant %#v", got, want)
}

// NotEqual is the opposite of Equal.
func NotEqual(t T, unwanted, got any, note ...any) {
	t.Helper()
	check(t, !reflect.DeepEqual(unwanted, got), note, "got %#v", got)
}

// EqualValues wants the same number; the integer types may differ.
func EqualValues(t T, want, got any, note ...any) {
	t.Helper()
	ok := isInteger(want) && isInteger(got) && decimal(want) == decimal(got)
	check(t, ok, note, "got  %#v\nwant %#v, or the same number of another type", got, want)
}

// Less wants the first value to be the smaller one.
func Less[V cmp.Ordered](t T, a, b V, note ...any) {
	t.Helper()
	check(t, a < b, note, "%v is not less than %v", a, b)
}

// LessOrEqual wants the first value not to be the larger one.
func LessOrEqual[V cmp.Ordered](t T, a, b V, note ...any) {
	t.Helper()
	check(t, a <= b, note, "%v is more than %v", a, b)
}

// Greater wants the first value to be the larger one.
func Greater[V cmp.Ordered](t T, a, b V, note ...any) {
	t.Helper()
	check(t, a > b, note, "%v is not more than %v", a, b)
}

// Zero wants the zero value of a type.
func Zero(t T, got any, note ...any) {
	t.Helper()
	check(t, isZero(got), note, "got %#v, want the zero value", got)
}

// Empty wants no element in a slice, a map, a string or a channel.
func Empty(t T, got any, note ...any) {
	t.Helper()
	check(t, size(got) == 0, note, "got %#v with %d elements, want none", got, size(got))
}

// Len wants a number of elements in a slice, a map, a string or a channel.
func Len(t T, got any, want int, note ...any) {
	t.Helper()
	check(t, size(got) == want, note, "got %#v with %d elements, want %d", got, size(got), want)
}

// Contains wants a substring of a string, a key of a map or an element of a slice.
func Contains(t T, whole, part any, note ...any) {
	t.Helper()
	check(t, has(t, whole, part), note, "%#v\nis not in %#v", part, whole)
}

// NotContains is the opposite of Contains.
func NotContains(t T, whole, part any, note ...any) {
	t.Helper()
	check(t, !has(t, whole, part), note, "%#v\nis in %#v", part, whole)
}

// NoError wants success.
func NoError(t T, err error, note ...any) {
	t.Helper()
	check(t, err == nil, note, "unexpected error: %v", err)
}

// Error wants a failure.
func Error(t T, err error, note ...any) {
	t.Helper()
	check(t, err != nil, note, "no error")
}

// ErrorIs wants an error that is or wraps another one.
func ErrorIs(t T, err, target error, note ...any) {
	t.Helper()
	check(t, errors.Is(err, target), note, "error is %v\nand not %v", err, target)
}

// EqualError wants an error with this text.
func EqualError(t T, err error, want string, note ...any) {
	t.Helper()
	check(t, err != nil && err.Error() == want, note, "error is %v\nand not %s", err, want)
}

// ErrorContains wants an error whose text contains part.
func ErrorContains(t T, err error, part string, note ...any) {
	t.Helper()
	check(t, err != nil && strings.Contains(err.Error(), part), note, "error is %v\nwithout %s", err, part)
}

func isInteger(v any) bool {
	value := reflect.ValueOf(v)
	return value.IsValid() && (value.CanInt() || value.CanUint())
}

// decimal formats an integer, ignoring the methods of its type.
func decimal(v any) string {
	if value := reflect.ValueOf(v); value.CanInt() {
		return strconv.FormatInt(value.Int(), 10)
	} else {
		return strconv.FormatUint(value.Uint(), 10)
	}
}

func isZero(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }

// size returns how many elements a value has; nil has none, and a value that cannot have elements has -1.
func size(v any) int {
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Invalid:
		return 0
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		return value.Len()
	default:
		return -1
	}
}

func has(t T, whole, part any) bool {
	t.Helper()
	switch in := reflect.ValueOf(whole); in.Kind() {
	case reflect.String:
		return strings.Contains(in.String(), reflect.ValueOf(part).String())
	case reflect.Map:
		return in.MapIndex(reflect.ValueOf(part)).IsValid()
	case reflect.Array, reflect.Slice:
		for i := range in.Len() {
			if reflect.DeepEqual(in.Index(i).Interface(), part) {
				return true
			}
		}
		return false
	default:
		t.Fatalf("%T contains nothing", whole)
		return false
	}
}
