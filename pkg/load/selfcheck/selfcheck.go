package selfcheck

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Options configure a check.
type Options struct {
	// Server is the command line that runs [Serve]; Run appends arguments.
	Server []string
	// Duration is the time for each of the two loads over TCP, at least a second. Each rate is
	// tried for a tenth of it, or longer if a p99 needs more requests. Wait measurements do not
	// depend on it.
	Duration time.Duration
	// Tool and Host are copied to the report.
	Tool results.Tool
	Host results.Host
	// Progress, if not nil, is called with the next part's name.
	Progress func(what string)
}

// DefaultDuration gives enough requests for every printed percentile.
const DefaultDuration = 10 * time.Second

// Report holds check results, beginning with the part kept in a run manifest.
type Report struct {
	results.SelfCheck
	// Service are service times in a closed loop.
	Service Comparison `json:"service"`
	// Response are response times at a rate that the server keeps except during its
	// stall.
	Response Comparison `json:"response"`
	// Paces are in the order tried.
	Paces []Pace `json:"paces"`
}

// The loads over TCP: the mean delay by the law keeps ten clients a quarter busy, so requests that
// queue during a stall are sent soon after the stall.
const (
	clients = 10
	rate    = 1000
)

// Run runs a check, which takes two to five times its duration plus some ten
// seconds. It starts servers on this machine, one after the other, and stops them.
func Run(ctx context.Context, o Options) (*Report, error) {
	if len(o.Server) == 0 || o.Duration < time.Second {
		return nil, fmt.Errorf("a self-check needs a server's command and a duration of at least 1s, got %q and %v", o.Server, o.Duration)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	// The stall is a tenth of the load, and begins between two due times.
	law := Law{Delays: tails(), StallAfter: o.Duration/2 + time.Second/rate/2, StallFor: o.Duration / 10}
	closed := scenario{law: law, clients: clients, duration: o.Duration}
	open := closed
	open.rate = rate
	r := Report{SelfCheck: results.SelfCheck{Date: time.Now().UTC().Truncate(time.Second), Tool: o.Tool, Host: o.Host, Duration: o.Duration}}
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
		{"timers", func() (err error) { r.TimerLateness, err = timerLateness(ctx, waitFor); return err }},
		{"waits of a client", func() (err error) { r.ClientLateness, err = clientLateness(ctx, waitFor); return err }},
		{"rates", func() (err error) { r.Paces, err = paces(ctx, o.Duration/10); return err }},
	} {
		o.Progress(part.what)
		if err := part.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	r.HighestRate, r.MissedRates = highest(r.Paces)
	r.ServiceP99, r.ResponseP99 = r.Service.p99(), r.Response.p99()
	return &r, nil
}
