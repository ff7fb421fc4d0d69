package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneSignal is the time after the first signal in which further signals count as the same
// one: timeout(1) and service managers signal the process and then its group.
const oneSignal = 200 * time.Millisecond

// interruptible returns a context that ends at the first INT, TERM or HUP, unless HUP was ignored
// from the start, as by nohup. A broken standard output or error, as after a lost connection or in
// "| head", ends nothing. A second signal prints the paths in lastWords and exits at once; local
// agents' children die with this process.
func interruptible(errw io.Writer, last func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(signals, ends...)
	// A write to a broken pipe is then an error, as for files. Nobody receives the signal.
	// Children get the default action again, which they would not if it were ignored.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	done := make(chan struct{})
	go watchSignals(signals, done, func(s os.Signal) {
		fmt.Fprintf(errw, "\ndbtester: %v: stopping; repeat to exit at once\n", s)
		cancel(errInterrupted)
	}, func() {
		last()
		os.Exit(exitInterrupted)
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(broken)
		close(done)
		cancel(nil)
	}
}

// watchSignals calls first at the first signal, and again at the next signal more than
// oneSignal later, each at most once. It returns after again or when done is closed.
func watchSignals(signals <-chan os.Signal, done <-chan struct{}, first func(os.Signal), again func()) {
	select {
	case s := <-signals:
		first(s)
	case <-done:
		return
	}
	began := time.Now()
	for {
		select {
		case <-signals:
			if time.Since(began) > oneSignal {
				again()
				return
			}
		case <-done:
			return
		}
	}
}
