// Package databasetest is the conformance suite that every database passes, and the
// small cluster that it runs on.
//
// A database's test package has a TestMain that calls [Main], so that plans of built-in
// servers can run the test binary again, and a test that calls [Run].
package databasetest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Suite configures the tests of one database.
type Suite struct {
	Database database.Database
	// Options are YAML over the driver's defaults.
	Options string
	// Addrs are the loopback addresses of the members, one each; the default is
	// 127.0.0.1 to 127.0.0.3. Give every database its own, because test packages run
	// concurrently.
	Addrs []string
	// Tools are the executables of Info.Tools.
	Tools map[string]string
	// TLS is given to members and clients; nil means plaintext.
	TLS *database.TLS
	// Auth holds the clients' credentials; it may be nil. Options decide whether members
	// require them.
	Auth *database.Auth
	// TextKeys means that keys must be printable.
	TextKeys bool
	// Admit, if set, makes the members require Auth. It is called when they are ready;
	// until it returns the cluster's targets have no credentials.
	Admit func(testing.TB, *Cluster)
	// FixedLeader means that the cluster has no elections, so its leader is never killed
	// alone.
	FixedLeader bool
	// ExactLimit returns the largest value in bytes that member 0 accepts under a key of
	// keySize bytes, for databases where it depends on the member or on the credentials;
	// nil means the driver's own limit.
	ExactLimit func(t testing.TB, c *Cluster, keySize int) int
	// ServerCount returns a number that grows by one with every write that the cluster's
	// servers log for clients, whether or not it changed anything. It does not grow on an
	// idle cluster. It is nil for databases without such a number.
	ServerCount func(testing.TB, *Cluster) int64
	// Held returns all keys of the cluster by their stored names, each with a text of its
	// value and version as the servers report them. If it is nil, the driver's own clients
	// read the values.
	Held func(testing.TB, *Cluster) map[string]string
	// PrefixOptions are YAML over Options for the clients of the case with a prefix, which
	// creates several key spaces.
	PrefixOptions string
	// Guarded means that members require credentials for their metrics, which agents do not
	// have.
	Guarded bool
	// Version is the version that members must report; empty means any.
	Version string
	// Lacks are modes of ranges that members of this release do not know.
	Lacks []workload.RangeMode
	// Part is the part of the suite that runs, if not all of it.
	Part Part
	// Elsewhere names cases of the part that another suite of the package runs with the same code.
	// This suite runs them only if [Long].
	Elsewhere []string
}

// cases returns the file with the list of cases that must run. A cluster with TLS or
// credentials has more cases.
func (s Suite) cases() string {
	if s.TLS != nil || s.Auth != nil {
		return "testdata/cases-secure.txt"
	}
	return "testdata/cases.txt"
}

// Main runs the tests of a package, or one member as [Serve] does. It does not return.
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

// MemberEnv names a program that serves members of built-in databases in place of the test
// binary, started like it as "serve NAME ARGS...". make test sets it: built with the race
// detector, a server takes several times the CPU time, and the server is not under test.
const MemberEnv = "DBTESTER_MEMBER"

// Self returns the command line, without a database's name and arguments, that serves a member of
// a built-in database: that of the program in [MemberEnv], or of the test binary.
func Self() []string {
	program := os.Getenv(MemberEnv)
	if program == "" {
		program = os.Args[0]
		if own, err := os.Executable(); err == nil { // which stays right in another directory
			program = own
		}
	}
	return []string{program, "serve"}
}

// Serve runs one member of a built-in server and does not return, if the program was started as
// "serve NAME ARGS...".
func Serve(r *database.Registry) {
	if len(os.Args) < 3 || os.Args[1] != "serve" {
		return
	}
	if err := serve(r, os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "serve %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(r *database.Registry, name string, args []string) error {
	db, err := r.Get(name)
	if err != nil {
		return err
	}
	server, ok := db.New().(database.Embedded)
	if !ok {
		return fmt.Errorf("%s has no built-in server", name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return server.Serve(ctx, args)
}

// Run runs every case of the suite, or of its part, against one cluster of three members. Cases that
// mostly wait, for example for the ends of sessions, run at the same time, each with keys of its own.
// The cases that ran, and how many parts each had, are compared with testdata/cases.txt
// of the calling package, or with cases-secure.txt for TLS or credentials, so no case gets
// lost unnoticed; -update rewrites the file. The returned cluster is stopped, but its logs
// remain.
//
// Nothing else may run in the test binary meanwhile: leaks are searched among the
// goroutines of the whole process.
func Run(t *testing.T, s Suite) *Cluster {
	t.Helper()
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
	if s.Part == Whole || Long() {
		Golden(t, s.cases(), []byte(ran.String()))
	} else {
		s.mustBePart(t, ran.String())
	}
	return f.Cluster
}

// beside returns how many of the next cases run at the same time.
func (f *fixture) beside(list []testCase) int {
	n := 0
	for n < len(list) && list[n].waits != nil && list[n].waits(f) {
		n++
	}
	return max(n, 1)
}

// runTogether runs cases at the same time, and returns their lines for the list of cases.
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

// picked returns the cases of the suite's part.
func (s Suite) picked() []testCase {
	return slices.DeleteFunc(cases(), func(c testCase) bool {
		return s.Part != Whole && !Long() && (!slices.Contains(c.in, s.Part) || slices.Contains(s.Elsewhere, c.name))
	})
}

// mustBePart fails the test unless the cases that ran are exactly those of the suite's part
// in the file with the cases of the whole suite.
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
	if diff := diffLines(want.String(), ran); diff != "" {
		t.Errorf("not the cases of %s that are in this part, - is the file, + is now:\n%s", s.cases(), diff)
	}
}

// Golden compares got with a file of the calling package, which -update writes.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := diffLines(string(want), string(got)); diff != "" {
		t.Errorf("%s differs, - is the file, + is now (-update rewrites it):\n%s", path, diff)
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
