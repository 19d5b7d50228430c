package require

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A goroutine that goes on is found, and one that has ended is not.
func TestGoroutines(t *testing.T) {
	const here = "require.TestGoroutines.func"
	count := func(after time.Duration) (n int) {
		for _, stack := range Goroutines(after) {
			if strings.Contains(stack, here) {
				n++
			}
		}
		return n
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		<-end
	}()
	Equal(t, 1, count(0))
	close(end)
	<-ended
	Eventually(t, func() bool { return count(0) == 0 }, time.Minute, time.Millisecond)
}

// panics is a test that ends with the text of its failure.
type panics struct{}

func (panics) Helper()                           {}
func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestEventuallyEnds(t *testing.T) {
	defer func() { Equal(t, "not so after 1ms", recover()) }()
	Eventually(panics{}, func() bool { return false }, time.Millisecond, time.Microsecond)
}
