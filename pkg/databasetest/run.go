package databasetest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// cases returns the file that lists the cases that must run. A cluster that has TLS or credentials
// runs more cases.
func (s Suite) cases() string {
	if s.TLS != nil || s.Auth != nil {
		return "testdata/cases-secure.txt"
	}
	return "testdata/cases.txt"
}

// Main runs a package's tests, or one member as [Serve] does. It does not return.
func Main(m *testing.M, r *database.Registry) {
	Serve(r)
	flag.Bool("update", false, "rewrite the files that results are compared with")
	flag.Bool("record", false, "record answers of a real member again, in tests that replay some")
	flag.Int("neighbour-keys", neighbourKeys, "number of others' keys that a load below a prefix must not touch")
	// In a binary built with -race, every member would sleep a second before it exits.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	_ = flag.Set("test.parallel", "4") // tests mostly wait for members; -parallel on the command line is parsed later
	os.Exit(m.Run())
}

// Run runs every case of the suite, or of its part, against one cluster of three members. Cases
// that mostly wait, for example until sessions end, run at the same time, each with its own keys.
// The cases that ran, and the number of parts in each, are compared with testdata/cases.txt in the
// calling package, or with cases-secure.txt for TLS or credentials, so no case gets lost unnoticed;
// -update rewrites the file. If [slowtest.Fast], slow cases are left out, and so are suites of a
// part. The returned cluster is stopped, but its logs remain.
//
// Nothing else may run in the test binary meanwhile: leaks are searched among all goroutines in the
// process.
func Run(t *testing.T, s Suite) *Cluster {
	t.Helper()
	if s.Part != Whole {
		slowtest.Skip(t)
	}
	f := &fixture{before: goleak.IgnoreCurrent(), names: new(atomic.Int64)}
	f.Cluster = Start(t, s, 3)
	list := slices.DeleteFunc(s.picked(), func(c testCase) bool { return c.applies != nil && !c.applies(f) })
	var ran strings.Builder
	for len(list) > 0 {
		n := f.beside(list)
		ran.WriteString(f.runTogether(t, list[:n]))
		list = list[n:]
	}
	if only := flag.Lookup("test.run").Value.String(); strings.Contains(only, "/") {
		t.Logf("cases were picked by -run %s: not compared with the list", only)
		return f.Cluster
	}
	if (s.Part == Whole || slowtest.Long()) && !slowtest.Fast() {
		Golden(t, s.cases(), []byte(ran.String()))
	} else {
		s.mustBePart(t, ran.String())
	}
	return f.Cluster
}

// beside returns the number of cases, from the next one on, that run at the same time.
func (f *fixture) beside(list []testCase) int {
	n := 0
	for n < len(list) && list[n].waits != nil && list[n].waits(f) {
		n++
	}
	return max(n, 1)
}

// runTogether runs cases at the same time, and returns their lines for the case list.
func (f *fixture) runTogether(t *testing.T, list []testCase) string {
	t.Helper()
	oks, own := make([]bool, len(list)), make([]*fixture, len(list))
	var all sync.WaitGroup
	for i, c := range list {
		own[i] = f.apart()
		all.Go(func() {
			oks[i] = t.Run(c.name, func(t *testing.T) {
				own[i].Cluster.t = t
				c.run(t, own[i])
			})
		})
	}
	all.Wait()
	var ran strings.Builder
	for i, c := range list {
		fmt.Fprintf(&ran, "%s x %d\n", c.name, max(own[i].parts, 1))
		if !oks[i] && c.breaks {
			t.Fatalf("the cluster is not what the next case expects after %q failed", c.name)
		}
	}
	return ran.String()
}

// picked returns the cases for s.Part, if [slowtest.Fast] without those that take seconds.
func (s Suite) picked() []testCase {
	return slices.DeleteFunc(cases(), func(c testCase) bool {
		if slowtest.Fast() && c.takesSeconds() {
			return true
		}
		return s.Part != Whole && !slowtest.Long() && (!slices.Contains(c.in, s.Part) || slices.Contains(s.Elsewhere, c.name))
	})
}

// mustBePart fails the test unless the cases that ran are exactly those for s.Part in the file with
// all cases.
func (s Suite) mustBePart(t *testing.T, ran string) {
	t.Helper()
	whole, err := os.ReadFile(s.cases())
	if err != nil {
		t.Fatalf("%v (-update of the whole suite writes it)", err)
	}
	var want strings.Builder
	picked := s.picked()
	for line := range strings.Lines(string(whole)) {
		name, _, _ := strings.Cut(line, " x ")
		if slices.ContainsFunc(picked, func(c testCase) bool { return c.name == name }) {
			want.WriteString(line)
		}
	}
	if diff := cmp.Diff(want.String(), ran); diff != "" {
		t.Errorf("not the cases of %s that are in this part, - is the file, + is now:\n%s", s.cases(), diff)
	}
}

// Skip skips a test that this machine cannot run. With CI=true it fails the test
// instead.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("skipped under CI: %s", why)
	}
	t.Skip(why)
}
