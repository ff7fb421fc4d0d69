package compare

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/cpuprofile"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/results"
)

// shownFunctions is how many functions of profiles are shown.
const shownFunctions = 12

// profiles are what the members' CPU profiles say of both sides.
type profiles struct {
	functions []function // those that differ most first
	total     function
	a, b      spent // of each side, without functions
}

// function is the processor time of a function in all members, in microseconds for each
// request that was answered.
type function struct {
	name string
	a, b float64
}

func (f *function) difference() float64 { return f.b - f.a }

// spent is the processor time of one side by function.
type spent struct {
	self     map[string]time.Duration
	total    time.Duration
	requests float64
	profiles int
}

// readProfiles reads the profiles of both sides. It returns nil unless both have some.
// Runs have whole profiles of all members, or are left out and named in problems.
func readProfiles(a, b Side) (p *profiles, problems []string) {
	x, problemsA := profilesOf(a)
	y, problemsB := profilesOf(b)
	problems = slices.Concat(problemsA, problemsB)
	if x.profiles == 0 || y.profiles == 0 {
		return nil, problems
	}
	p = &profiles{a: spent{profiles: x.profiles, total: x.total}, b: spent{profiles: y.profiles, total: y.total}}
	per := func(s *spent, d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / s.requests }
	p.total = function{"all functions", per(x, x.total), per(y, y.total)}
	for name := range x.self {
		p.functions = append(p.functions, function{name, per(x, x.self[name]), per(y, y.self[name])})
	}
	for name := range y.self {
		if _, both := x.self[name]; !both {
			p.functions = append(p.functions, function{name, 0, per(y, y.self[name])})
		}
	}
	slices.SortFunc(p.functions, func(f, g function) int {
		return cmp.Or(cmp.Compare(math.Abs(g.difference()), math.Abs(f.difference())), cmp.Compare(g.a, f.a), cmp.Compare(f.name, g.name))
	})
	return p, problems
}

// profilesOf reads the profiles of one side.
func profilesOf(s Side) (sum *spent, problems []string) {
	sum = &spent{self: map[string]time.Duration{}}
	for _, r := range s.Runs {
		if err := sum.add(r); err != nil {
			problems = append(problems, fmt.Sprintf("the profiles of %s are not used: %v", r.Run.Info.Tag, err))
		}
	}
	return sum, problems
}

// add adds the profiles of one run, of which there may be none.
func (s *spent) add(r Recorded) error {
	members := r.Run.Info.Record.Members
	var all []*cpuprofile.Profile
	requests := 0.0
	for _, m := range members {
		for _, one := range m.Profiles {
			if one.Kind != "cpu" || !filepath.IsLocal(one.File) {
				continue
			}
			read, err := readProfile(filepath.Join(r.Folder, r.Run.Info.Record.Tag, one.File))
			if err != nil {
				return err
			}
			all = append(all, read)
			requests += answered(r.Run, one)
		}
	}
	if len(all) == 0 {
		return nil
	}
	switch {
	case len(all) != len(members):
		return fmt.Errorf("there must be one profile for each of the %d members, got %d", len(members), len(all))
	case r.Run.Capacity != nil:
		return errors.New("a search for a capacity keeps only the records of its last window")
	case requests <= 0:
		return errors.New("no request was recorded as answered during the profile")
	}
	s.requests += requests / float64(len(all)) // each profile is of nearly the same time
	for _, read := range all {
		s.profiles++
		s.total += read.Total
		for name, used := range read.Self {
			s.self[name] += used
		}
	}
	return nil
}

// answered is how many requests ended ok during a profile, in all steps that it was in.
// Those of a second in part are its share of them.
func answered(r *run.Run, p results.Profile) (requests float64) {
	start := float64(p.Start.Unix()) + float64(p.Start.Nanosecond())/1e9
	end := start + p.Length.Seconds()
	for _, s := range r.Load.Seconds {
		from, to := float64(s.Unix), float64(s.Unix+1)
		requests += s.OK * max(min(to, end)-max(from, start), 0)
	}
	return requests
}

func readProfile(path string) (*cpuprofile.Profile, error) {
	data, err := regularfile.Read(path, cpuprofile.MaxSize)
	if err != nil {
		return nil, err
	}
	return cpuprofile.Parse(bytes.NewReader(data))
}

// header names the columns of lines.
func (p *profiles) header() []string {
	return []string{"function", "A", "B", "difference"}
}

// lines are the functions that differ most, and the sum of all.
func (p *profiles) lines() (out [][]string) {
	for _, f := range append([]function{p.total}, p.functions[:min(len(p.functions), shownFunctions)]...) {
		out = append(out, []string{f.name, number(f.a), number(f.b), signedNumber(f.difference())})
	}
	return out
}

// legend explains lines.
func (p *profiles) legend() string {
	return fmt.Sprintf("Processor time spent in each function itself, over all members, in microseconds per request; the largest differences come first. %d profiles of A sampled %s, %d of B %s; one sample is 10 ms. Profiles do not affect the verdict.",
		p.a.profiles, seconds(p.a.total), p.b.profiles, seconds(p.b.total))
}

func seconds(d time.Duration) string { return number(d.Seconds()) + " s" }

// signedNumber prints a difference with three significant digits, never as a power of 10.
func signedNumber(v float64) string {
	switch {
	case math.Abs(v) < .0005:
		return "+0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%+.0f", v)
	}
	return fmt.Sprintf("%+.3g", v)
}

// text is the table for a terminal.
func (p *profiles) text() string {
	return table.Frame(p.header(), [][][]string{p.lines()}) + "\n" + p.legend() + "\n"
}
