// Package profile compares two sides' processor time by function, from the profiles that members
// made.
package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/profile/cpuprofile"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// Half compares profiles in reports about two sides.
type Half struct{}

// shown bounds the functions in the comparison.
const shown = 12

// document has CPU times for all members, in microseconds per answered request.
type document struct {
	ProfilesA int        `json:"profiles_a"`
	ProfilesB int        `json:"profiles_b"`
	All       function   `json:"all"`
	Functions []function `json:"functions"` // largest difference first
}

// function is the CPU time in a function itself, without its callees.
type function struct {
	Name string  `json:"name"`
	A    float64 `json:"a_us_per_request"`
	B    float64 `json:"b_us_per_request"`
}

func (f *function) difference() float64 { return f.B - f.A }

// spent is CPU time by function on one side.
type spent struct {
	self     map[string]time.Duration
	total    time.Duration
	requests float64
	profiles int
}

// per returns a time in microseconds per request.
func (s *spent) per(d time.Duration) float64 {
	return float64(d) / float64(time.Microsecond) / s.requests
}

// Compare returns nil unless both sides have profiles. A run without complete profiles for all
// members is left out and named in the notes.
func (Half) Compare(a, b []abilities.Recorded) (c *abilities.Comparison, notes []string) {
	x, notesA := profilesOf(a)
	y, notesB := profilesOf(b)
	notes = slices.Concat(notesA, notesB)
	if x.profiles == 0 || y.profiles == 0 {
		return nil, notes
	}
	d := document{ProfilesA: x.profiles, ProfilesB: y.profiles, All: function{"all functions", x.per(x.total), y.per(y.total)}}
	for name := range x.self {
		d.Functions = append(d.Functions, function{name, x.per(x.self[name]), y.per(y.self[name])})
	}
	for name := range y.self {
		if _, both := x.self[name]; !both {
			d.Functions = append(d.Functions, function{name, 0, y.per(y.self[name])})
		}
	}
	slices.SortFunc(d.Functions, func(f, g function) int {
		return cmp.Or(cmp.Compare(math.Abs(g.difference()), math.Abs(f.difference())), cmp.Compare(g.A, f.A), cmp.Compare(f.Name, g.Name))
	})
	c = &abilities.Comparison{Key: "profiles", Document: d, Heading: "function", Legend: fmt.Sprintf(
		"Processor time spent in each function itself, over all members, in microseconds per request; the largest differences come first. %d profiles of A sampled %s, %d of B %s; one sample is 10 ms. Profiles do not affect the verdict.",
		x.profiles, seconds(x.total), y.profiles, seconds(y.total))}
	for _, f := range append([]function{d.All}, d.Functions[:min(len(d.Functions), shown)]...) {
		c.Lines = append(c.Lines, abilities.Line(f))
	}
	return c, notes
}

// profilesOf reads the profiles on one side.
func profilesOf(runs []abilities.Recorded) (sum *spent, notes []string) {
	sum = &spent{self: map[string]time.Duration{}}
	for _, r := range runs {
		if err := sum.add(r); err != nil {
			notes = append(notes, fmt.Sprintf("the profiles of %s are not used: %v", r.Run.Info.Tag, err))
		}
	}
	return sum, notes
}

// add adds the profiles from one run, which may be missing.
func (s *spent) add(r abilities.Recorded) error {
	members := r.Run.Info.Record.Members
	var all []*cpuprofile.Profile
	requests := 0.0
	for _, m := range members {
		profiles, err := profile.Record().Of(m.Records)
		if err != nil {
			return err
		}
		for _, one := range profiles {
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
	s.requests += requests / float64(len(all)) // each profile covers nearly the same time
	for _, read := range all {
		s.profiles++
		s.total += read.Total
		for name, used := range read.Self {
			s.self[name] += used
		}
	}
	return nil
}

// answered returns the number of requests that ended ok during a profile, in all its steps. A
// partly covered second contributes its share.
func answered(r *run.Run, p profile.Profile) (requests float64) {
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

// seconds formats a time in seconds with four significant digits, never as a power of 10.
func seconds(d time.Duration) string {
	if s := d.Seconds(); s >= 1000 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.4g s", d.Seconds())
}
