package main

import (
	"strings"
	"time"
)

// key returns a duration in the plan's load, or 0 if the load does not set it.
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

// length is the load's duration.
func (r *Run) length() time.Duration { return r.Plan.key("duration") }

// timeout is the load's time-out per request.
func (r *Run) timeout() time.Duration { return r.Plan.key("timeout") }

// atLeast requires a row to show a lower bound instead of a value.
func (f *Findings) atLeast(row string, r *Run) {
	text := r.Report.Text(row)
	f.Holds(row+" is a bound", strings.HasPrefix(text, ">="), ">= ...", text)
}
