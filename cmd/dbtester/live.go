package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze/publish/live"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
)

// liveFlags are the flags for serving a run in progress.
type liveFlags struct {
	address string // "" serves nothing
	certs   string
}

// register declares the flags.
func (f *liveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "live", "", "serve the run while it goes on at an address such as 127.0.0.1:8080: a page for browsers, which becomes the report, and /metrics for Prometheus")
	flags.StringVar(&f.certs, "live-certs", "", "with --live: folder of a certificate as agents have, which dbtester certs made for this machine. Other machines may then look too, with a certificate as control has")
}

// audience shows a run in progress. A nil audience shows nothing.
type audience struct {
	run    *live.Run
	server *live.Server
}

// admit begins to serve a run before any part starts. It returns nil unless that was requested.
func (a *app) admit(ctx context.Context, e *config.Experiment, f liveFlags, quiet bool) (*audience, error) {
	if f.address == "" {
		if f.certs != "" {
			return nil, usageError{errors.New("--live-certs needs --live ADDRESS")}
		}
		return nil, nil
	}
	l, at, err := lookers{"live", f.address, f.certs}.listen(ctx, a, slog.New(slog.NewTextHandler(a.err, nil)))
	if err != nil {
		return nil, err
	}
	run := live.New(e.Title)
	server, err := live.Serve(l, run)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !quiet {
		fmt.Fprintf(a.err, "live at %s\n", at)
	}
	return &audience{run: run, server: server}, nil
}

// update shows run progress.
func (v *audience) update(u control.Update) {
	if v == nil {
		return
	}
	of := live.Of{Trial: u.Trial, Trials: u.Trials, Tag: u.Tag}
	if u.Load != nil {
		v.run.Load(of, *u.Load, live.Ahead{Requests: u.Total, Length: u.Duration, Steps: u.Steps})
		return
	}
	v.run.Say(of, u.Text, u.Step)
}

// of returns the receiver of measurements. Without an audience, it discards them.
func (v *audience) of() control.Audience {
	if v == nil {
		return control.Audience{}
	}
	return control.Audience{
		Sampled: func(s control.Sampled) {
			v.run.Sample(live.Of{Trial: s.Trial, Tag: s.Tag}, s.Machine, s.Sample)
		},
		Reported: func(r control.Reported) { v.run.Report(live.Of{Trial: r.Trial, Tag: r.Tag}, r.Machine, r.Sample) },
		Happened: func(h control.Happened) { v.run.Happen(live.Of{Trial: h.Trial, Tag: h.Tag}, h.Event) },
		Counted:  func(c control.Counted) { v.run.Count(live.Of{Trial: c.Trial, Tag: c.Tag}, c.Load) },
	}
}

// servers describes the member machines in a few words, for the line on the terminal.
func (v *audience) servers() string {
	if v == nil {
		return ""
	}
	return v.run.Servers()
}

// written shows the report instead of the run.
func (v *audience) written(page string) error {
	if v == nil {
		return nil
	}
	return v.server.Finish(page)
}

// leave ends the server, even after an interrupt.
func (v *audience) leave(ctx context.Context) error {
	if v == nil {
		return nil
	}
	return v.server.Close(context.WithoutCancel(ctx))
}
