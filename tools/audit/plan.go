package main

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// key returns a duration in the load, or 0 if the load does not set it.
func (p Plan) key(name string) time.Duration {
	for _, pair := range strings.Split(p.Load, ", ") {
		if k, v, _ := strings.Cut(pair, ": "); k == name {
			d, err := time.ParseDuration(v)
			if err == nil {
				return d
			}
		}
	}
	return 0
}

// length is the load duration.
func (r *Run) length() time.Duration { return r.Plan.key("duration") }

// timeout is the timeout per request.
func (r *Run) timeout() time.Duration { return r.Plan.key("timeout") }

// atLeast requires the row to show a lower bound instead of a value.
func (f *Findings) atLeast(row string, r *Run) {
	text := r.Report.Text(row)
	f.Holds(row+" is a bound", strings.HasPrefix(text, ">="), ">= ...", text)
}

// Exit codes of control.
const (
	exitDone    = 0
	exitInvalid = 3
	exitAny     = -1 // for a plan: any code is accepted
)

// small sets key and value sizes for cases in which they do not matter.
const small = "key_size: 16, value_size: 64"

// one returns a single run.
func one(p func(Scale) Plan) func(Scale) []Plan {
	return func(s Scale) []Plan { return []Plan{p(s)} }
}

// served is a cluster of three that serves about 450 of the load's requests per second.
func served(Scale) standin.Options {
	return standin.Options{Members: 3, Load: standin.Put, Slots: 9, Delay: 20 * time.Millisecond}
}

// quick is a cluster of three that answers requests by this method after a delay.
func quick(method standin.Method, delay time.Duration, script func(standin.Request) standin.Action) func(Scale) standin.Options {
	return func(Scale) standin.Options {
		return standin.Options{Members: 3, Load: method, Delay: delay, Script: script}
	}
}

// refused is the answer from an overloaded server: the request was not applied.
var refused = status.Error(codes.ResourceExhausted, "etcdserver: too many requests")

// pause waits, then acts.
func pause(ctx context.Context, d time.Duration, act func()) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		act()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
