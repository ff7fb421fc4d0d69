package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze/publish/live"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/trust/certs"
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

// admit begins to serve a run before any part of it starts; nil if not requested.
func (a *app) admit(ctx context.Context, e *config.Experiment, f liveFlags, quiet bool) (*audience, error) {
	if f.address == "" {
		if f.certs != "" {
			return nil, usageError{errors.New("--live-certs needs --live ADDRESS")}
		}
		return nil, nil
	}
	secure, err := f.tls(a)
	if err != nil {
		return nil, err
	}
	l, err := live.Listen(ctx, f.address, secure)
	if err != nil {
		return nil, usageError{fmt.Errorf("--live: %w", err)}
	}
	run := live.New(e.Title)
	server, err := live.Serve(l, run)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !quiet {
		fmt.Fprintf(a.err, "live at %s\n", pageAddress(l.Addr(), secure != nil))
	}
	return &audience{run: run, server: server}, nil
}

// tls returns the configuration of the server, nil without certificates.
func (f liveFlags) tls(a *app) (*tls.Config, error) {
	source, err := linkFlags{certs: f.certs}.open(a, certs.RoleAgent, slog.New(slog.NewTextHandler(a.err, nil)))
	if source == nil {
		return nil, err
	}
	// Files may change from one connection to the next.
	current := func(*tls.ClientHelloInfo) (*tls.Config, error) { return source.Server(), nil }
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: current}, nil
}

// pageAddress returns the URL of the page.
func pageAddress(at net.Addr, secure bool) string {
	if secure {
		return "https://" + at.String() + "/"
	}
	return "http://" + at.String() + "/"
}

// update shows an update of the run's progress.
func (v *audience) update(u control.Update) {
	if v == nil {
		return
	}
	of := live.Of{Trial: u.Trial, Trials: u.Trials, Tag: u.Tag}
	if u.Load != nil {
		v.run.Load(of, *u.Load, u.Total, u.Duration)
		return
	}
	v.run.Say(of, u.Text, u.Step)
}

// sampled returns a function that receives samples of machines, nil without an audience.
func (v *audience) sampled() func(control.Sampled) {
	if v == nil {
		return nil
	}
	return func(s control.Sampled) {
		v.run.Sample(live.Of{Trial: s.Trial, Tag: s.Tag}, s.Machine, s.Sample)
	}
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
