// Package profile has every member profile itself during a load.
package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// grace is the time after the load in which to wait for profiles that are nearly complete.
const grace = 2 * time.Second

// Profiles has every member profile itself during the load. Failures are marks and do not fail the
// run.
type Profiles struct {
	run      *abilities.Run
	profiler database.Profiler // nil if nothing is profiled
	length   time.Duration
	members  [][]profile.Profile // by member, like the errors
	errs     []error
}

// New returns the profiles for r.
func New(r *abilities.Run) *Profiles { return &Profiles{run: r} }

// Name implements [abilities.Activity].
func (p *Profiles) Name() string { return "profile the members" }

// Prepare finds out the possible length of profiles.
func (p *Profiles) Prepare(context.Context) error {
	asked := profile.Keys().Of(p.run.Experiment.Abilities)
	if asked.CPU == 0 {
		return nil
	}
	profiler, ok := p.run.Driver.(database.Profiler)
	if !ok {
		p.run.Mark(mark.NotProfiled, nil, mark.Words{"database": p.run.DB.Name})
		return nil
	}
	p.length = Length(p.run.DB.Load, asked.CPU)
	if p.length < asked.CPU {
		p.run.Mark(mark.NotProfiled, mark.Values{"asked_seconds": asked.CPU.Seconds(), "profile_seconds": p.length.Seconds()}, nil)
	}
	if p.length < time.Second {
		return nil
	}
	n := len(p.run.Record.Members)
	p.profiler, p.members, p.errs = profiler, make([][]profile.Profile, n), make([]error, n)
	return nil
}

// Length returns the length of a profile that fits into the load after the warm-up of the first
// step, in whole seconds. Loads with a request count may take any time.
func Length(l workload.Load, asked time.Duration) time.Duration {
	var all time.Duration
	for _, s := range l.Stretches() {
		if s.Duration == 0 {
			return asked
		}
		all += s.Duration
	}
	return max(min(asked, all-l.WarmUp), 0).Truncate(time.Second)
}

// Run profiles every member after the warm-up. When the load is over, it waits for profiles that
// are nearly complete and cancels the others.
func (p *Profiles) Run(ctx context.Context) error {
	if p.profiler == nil {
		return nil
	}
	warmUp := p.run.DB.Load.WarmUp
	end := time.Now().Add(warmUp + p.length)
	p.run.Event(results.Event{Time: time.Now().UTC(), Kind: "profiles", Member: -1, Text: fmt.Sprintf("CPU, %v, after a warm-up of %v", p.length, warmUp)})
	if err := os.MkdirAll(filepath.Join(p.run.Dir, profile.Dir), 0o755); err != nil {
		for i := range p.errs {
			p.errs[i] = fmt.Errorf("make directory: %w", err)
		}
		return nil
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if rest := time.Until(end); errors.Is(context.Cause(ctx), abilities.ErrOver) && rest <= grace {
			time.AfterFunc(rest+grace, cancel)
			return
		}
		cancel()
	})
	defer stop()
	var wg sync.WaitGroup
	for i := range p.members {
		wg.Go(func() { p.members[i], p.errs[i] = p.member(own, i) })
	}
	wg.Wait()
	return nil
}

// member waits for the warm-up and fetches the profile of member i.
func (p *Profiles) member(ctx context.Context, i int) ([]profile.Profile, error) {
	if !sleep.For(ctx, p.run.DB.Load.WarmUp) {
		return nil, ctx.Err()
	}
	name := profile.File(i)
	got := profile.Profile{Kind: "cpu", File: name, Start: time.Now().UTC(), Length: p.length}
	err := wholefile.Write(filepath.Join(p.run.Dir, name), func(w io.Writer) error {
		return p.profiler.CPUProfile(ctx, *p.run.Target, i, p.length, w)
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err() // whatever error the driver returned
	case err != nil:
		return nil, err
	}
	return []profile.Profile{got}, nil
}

// Record records the profiles that arrived, and marks the others.
func (p *Profiles) Record() {
	arrived := 0
	for i, err := range p.errs {
		if err == nil {
			err = profile.Record().Set(&p.run.Record.Members[i].Records, p.members[i])
		}
		switch {
		case errors.Is(err, context.Canceled):
			p.run.Mark(mark.NotProfiled, mark.Values{"member": float64(i + 1), "profile_seconds": p.length.Seconds()}, nil)
		case err != nil:
			p.run.Mark(mark.NotProfiled, mark.Values{"member": float64(i + 1)}, mark.Words{"why": plaintext.Joined(err.Error())})
		default:
			arrived++
		}
	}
	if arrived > 0 {
		p.run.Mark(mark.Profiled, mark.Values{"profiled": float64(arrived), "members": float64(len(p.errs)), "profile_seconds": p.length.Seconds()}, nil)
	}
}
