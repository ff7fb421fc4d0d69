package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Options say how to run a check.
type Options struct {
	// Server is the command line that runs [Serve], to which arguments are added.
	Server []string
	// Duration is that of each of the two loads over TCP, at least a second;
	// everything else follows from it.
	Duration time.Duration
	// Progress, if not nil, is told what is done next.
	Progress func(what string)
}

// DefaultDuration gives enough requests for every percentile that is printed.
const DefaultDuration = 10 * time.Second

// Report is what a check found.
type Report struct {
	// Service are service times in a closed loop.
	Service Comparison `json:"service"`
	// Response are response times at a rate that the server can keep but for its
	// stall.
	Response Comparison `json:"response"`
	// Paces are the rates that were tried, and HighestRate the highest that this
	// machine kept, in requests per second.
	Paces       []Pace  `json:"paces"`
	HighestRate float64 `json:"highest_rate"`
	// Timer and Client are by how much waits a millisecond apart overshoot: those for
	// a timer of the Go runtime, and those of one client of the engine.
	Timer  results.Spread `json:"timer"`
	Client results.Spread `json:"client"`
}

// The loads over TCP: ten clients that the law's mean delay keeps busy to a
// fourth, so that what a stall holds up queues for them and is worked off.
const (
	clients = 10
	rate    = 1000
)

// Run runs a check, which takes three to five times its duration. It starts servers
// on this machine, one after the other, and stops them.
func Run(ctx context.Context, o Options) (*Report, error) {
	if len(o.Server) == 0 || o.Duration < time.Second {
		return nil, errors.New("a self-check needs a server and at least a second")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	// The stall is a tenth of the load, and begins between two due times.
	law := Law{Delays: tails(), StallAfter: o.Duration/2 + time.Second/rate/2, StallFor: o.Duration / 10}
	closed := scenario{law: law, clients: clients, duration: o.Duration}
	open := closed
	open.rate = rate
	var r Report
	for _, part := range []struct {
		what string
		run  func() error
	}{
		{fmt.Sprintf("closed loop, %d clients, %v", clients, o.Duration), func() (err error) {
			r.Service, err = closed.run(ctx, o.Server)
			return err
		}},
		{fmt.Sprintf("%d requests a second, %d clients, %v", rate, clients, o.Duration), func() (err error) {
			r.Response, err = open.run(ctx, o.Server)
			return err
		}},
		{"timers", func() (err error) { r.Timer, err = timerLateness(ctx, o.Duration/10); return err }},
		{"waits of a client", func() (err error) { r.Client, err = clientLateness(ctx, o.Duration/10); return err }},
		{"rates", func() (err error) { r.Paces, err = paces(ctx, o.Duration/10); return err }},
	} {
		o.Progress(part.what)
		if err := part.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	r.HighestRate = highest(r.Paces)
	return &r, nil
}
