package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// The codes of marks.
const (
	markProfiled    = "profiled"
	markNotProfiled = "not profiled"
)

// profileGrace is how long after the load's end a profile that is about to be
// over is waited for.
const profileGrace = 2 * time.Second

// profiling has every member profile itself during a load. What goes wrong is a
// mark and fails nothing.
type profiling struct {
	*conductor
	profiler database.Profiler
	length   time.Duration
	over     time.Time // when the profiles are over
	once     sync.Once
	cancel   context.CancelFunc
	members  sync.WaitGroup
	profiles []*results.Profile // by member, as the errors
	errs     []error
}

// newProfiling prepares the profiles of a load; nil profiles nothing.
func (c *conductor) newProfiling() *profiling {
	asked := c.Experiment.Profile
	if asked == nil {
		return nil
	}
	profiler, ok := c.driver.(database.Profiler)
	if !ok {
		c.mark(markNotProfiled, false, "members of %s cannot profile themselves", c.db.Name)
		return nil
	}
	p := &profiling{conductor: c, profiler: profiler, length: c.profileLength(asked.CPU)}
	if p.length < asked.CPU {
		c.mark(markNotProfiled, false, "the load is shorter than a profile of %v: %v are profiled", asked.CPU, p.length)
	}
	if p.length < time.Second {
		return nil
	}
	n := len(c.run.Members)
	p.profiles, p.errs = make([]*results.Profile, n), make([]error, n)
	return p
}

// profileLength is how much of a profile fits into the load behind the first
// step's warm-up, in whole seconds. How long a load of requests takes nobody
// knows.
func (c *conductor) profileLength(asked time.Duration) time.Duration {
	var all time.Duration
	for _, s := range c.plannedSteps() {
		if s.Duration == 0 {
			return asked
		}
		all += s.Duration
	}
	return max(min(asked, all-c.db.Load.WarmUp), 0).Truncate(time.Second)
}

// begin starts the profiles, once, behind the warm-up of the step that begins
// now.
func (p *profiling) begin(ctx context.Context) {
	if p == nil {
		return
	}
	p.once.Do(func() {
		ctx, p.cancel = context.WithCancel(ctx)
		p.over = time.Now().Add(p.db.Load.WarmUp + p.length)
		p.event("profiles", -1, fmt.Sprintf("CPU, %v, after a warm-up of %v", p.length, p.db.Load.WarmUp))
		for i := range p.profiles {
			p.members.Go(func() { p.profiles[i], p.errs[i] = p.member(ctx, i) })
		}
	})
}

// member waits for the warm-up and fetches one member's profile.
func (p *profiling) member(ctx context.Context, i int) (*results.Profile, error) {
	warm := time.NewTimer(p.db.Load.WarmUp)
	defer warm.Stop()
	select {
	case <-warm.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	name := path.Join(results.DirProfiles, fmt.Sprintf("%d-cpu.pprof", i+1))
	got := &results.Profile{Kind: "cpu", File: name, Start: time.Now().UTC(), Length: p.length}
	err := writeWhole(filepath.Join(p.dir, name), func(w io.Writer) error {
		return p.profiler.CPUProfile(ctx, p.target, i, p.length, w)
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err() // whatever the driver made of it
	case err != nil:
		return nil, err
	}
	return got, nil
}

// end waits for profiles that are nearly over, ends the others, and records what
// came.
func (p *profiling) end() {
	if p == nil || p.cancel == nil {
		return
	}
	if rest := time.Until(p.over); rest > profileGrace {
		p.cancel()
	} else {
		late := time.AfterFunc(rest+profileGrace, p.cancel)
		defer late.Stop()
	}
	p.members.Wait()
	p.cancel()
	came := 0
	for i, err := range p.errs {
		switch {
		case errors.Is(err, context.Canceled):
			p.mark(markNotProfiled, false, "member %d: the load ended before a profile of %v", i+1, p.length)
		case err != nil:
			p.mark(markNotProfiled, false, "member %d: %s", i+1, strings.Join(strings.Fields(err.Error()), " ")) // on one line
		default:
			p.run.Members[i].Profiles = append(p.run.Members[i].Profiles, *p.profiles[i])
			came++
		}
	}
	if came > 0 {
		p.mark(markProfiled, false, "%d of %d members profiled their processor time for %v of the load, which cost them a little", came, len(p.errs), p.length)
	}
}

// writeWhole writes a file that is there when it is whole, and not before.
func writeWhole(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	part := name + ".part"
	f, err := os.Create(part)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}
