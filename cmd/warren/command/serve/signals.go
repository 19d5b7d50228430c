package serve

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

// stacksMax is above how many goroutines equal stacks are written once, with their number: to write each of them
// would stop the server for too long.
const stacksMax = 5000

// outliveSignals keeps two signals from ending the process. SIGPIPE comes when the reader of standard output or
// standard error has ended. It has no effect from now on, so that the exit code tells what else has happened. At
// SIGQUIT, `kill -3`, the stacks of all goroutines are written to out, as a JVM writes those of its threads, until the
// function that it returns is called. From then on SIGQUIT has no effect either.
func outliveSignals(out io.Writer) (stop func()) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // children would inherit Ignore
	return onSignal(syscall.SIGQUIT, func() { writeStacks(out) })
}

// onSignal calls fn at each signal of a kind until the function that it returns is called. From then on such a signal
// has no effect.
func onSignal(kind os.Signal, fn func()) (stop func()) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, kind)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-signals:
				fn()
			}
		}
	})
	return func() {
		close(over)
		running.Wait()
	}
}

// writeStacks writes what each goroutine does, and since when it waits.
func writeStacks(out io.Writer) {
	n, detail := runtime.NumGoroutine(), 2
	if n > stacksMax {
		detail = 1
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s SIGQUIT: the stacks of %d goroutines\n", time.Now().Format(time.RFC3339), n)
	_ = pprof.Lookup("goroutine").WriteTo(&b, detail) // a Buffer takes everything
	b.WriteString("\nSIGQUIT: end of the stacks\n")
	_, _ = out.Write(b.Bytes())
}
