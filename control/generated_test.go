package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/control/issue"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// ledger counts the requests from all clients by operation, key and value hash; the value contains
// the request number.
type ledger struct {
	mu    sync.Mutex
	calls map[string]int
}

func (l *ledger) note(op string, key, value []byte) {
	h := fnv.New64a()
	h.Write(value)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[fmt.Sprintf("%s %s %x", op, key, h.Sum64())]++
}

// notedDriver is the fake with clients that record their requests.
type notedDriver struct {
	*fake.Options `yaml:",inline"`
	ledger        *ledger
}

func (d *notedDriver) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	c, err := d.Options.Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return notedClient{c, d.ledger}, nil
}

type notedClient struct {
	database.Client
	ledger *ledger
}

func (c notedClient) Put(ctx context.Context, key, value []byte) error {
	c.ledger.note("put", key, value)
	return c.Client.Put(ctx, key, value)
}

func (c notedClient) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	c.ledger.note("get", key, nil)
	return c.Client.Get(ctx, key, mode)
}

// newNotedRig returns a rig whose database "noted" records its requests.
func newNotedRig(t *testing.T) (*rig, *ledger) {
	l := &ledger{calls: map[string]int{}}
	db := fake.Database()
	db.Name, db.New = "noted", func() database.Driver { return &notedDriver{fake.New(), l} }
	return newRigOf(t, database.NewRegistry(fake.Database(), db)), l
}

// rigGenerator is the generator in an agent without members.
type rigGenerator struct {
	server   *grpc.Server
	listener *bufconn.Listener
}

// generate starts n generators, and returns the experiment key that names them.
func (r *rig) generate(n int, allowed bool) string {
	r.t.Helper()
	r.generators = map[string]*rigGenerator{}
	var names []string
	log := slog.New(slog.NewTextHandler(r.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	for i := range n {
		gen, err := generator.New(generator.Options{Registry: r.registry, Allowed: allowed, Interface: "lo", Log: log, Targets: r.targets()})
		if err != nil {
			r.t.Fatalf("make a generator: %v", err)
		}
		g := &rigGenerator{server: grpc.NewServer(agent.ServerOptions(log)...), listener: bufconn.Listen(1 << 20)}
		gen.Register(g.server)
		served := make(chan error, 1)
		go func() { served <- g.server.Serve(g.listener) }()
		r.t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := gen.Close(ctx); err != nil {
				r.t.Errorf("close the generator: %v", err)
			}
			g.server.Stop()
			<-served
		})
		addr := fmt.Sprintf("127.0.61.%d", i+1)
		names = append(names, addr)
		r.generators[addr+":3500"] = g
	}
	return "generators: [" + strings.Join(names, ", ") + "]\n"
}

// targets returns the addresses to which generators may connect: the members in tests, with or
// without agents.
func (r *rig) targets() generator.Targets {
	r.t.Helper()
	t, err := generator.ParseTargets([]string{"127.0.0.0/8"})
	if err != nil {
		r.t.Fatalf("parse the targets: %v", err)
	}
	return t
}

// connectGenerator implements Options.ConnectGenerator.
func (r *rig) connectGenerator(_ context.Context, addr string) (pb.GeneratorClient, io.Closer, error) {
	g := r.generators[addr]
	if g == nil {
		return nil, nil, fmt.Errorf("the rig has no generator at %s", addr)
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return g.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return pb.NewGeneratorClient(conn), conn, nil
}

// dues returns the number of requests due in each tick of each step.
func dues(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	rows, err := results.ReadProgress(filepath.Join(dir, results.FileProgress))
	if err != nil {
		t.Fatalf("read the ticks: %v", err)
	}
	due := map[string]int64{}
	for _, row := range rows {
		if row.Step == 0 && row.Due > 0 { // with a rate: due times do not depend on the machine
			due[fmt.Sprintf("step %d from %d %s", row.Step, row.FromNS, row.Operation)] += row.Due
		}
	}
	return due
}

// TestGenerators: two and four generators send the same requests together as one machine, with
// keys written before the load and in two steps, and produce one record.
func TestGenerators(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const load = `load:
  mix: {read: 30, update: 50, write: 20}
  keys: 50
  key_size: 16
  value_size: 64
  timeout: 60s
  drain: 60s
  steps: [{clients: 8, rate: 300, duration: 1s}, {clients: 12, requests: 400}]
consistency: false # no reading back, as keys that generators share are not judged
databases: {noted: {}}
`
	type outcome struct {
		calls map[string]int
		dues  map[string]int64
		rec   record
	}
	all := map[int]outcome{}
	var mu sync.Mutex
	t.Run("runs", func(t *testing.T) {
		for _, n := range []int{0, 2, 4} {
			t.Run(fmt.Sprintf("%d generators", n), func(t *testing.T) {
				t.Parallel()
				r, l := newNotedRig(t)
				key := ""
				if n > 0 {
					key = r.generate(n, true)
				}
				shown := false
				run := func() (*Outcome, error) {
					clear(l.calls)
					return r.run(r.experiment(key+load), func(u Update) { shown = shown || loading(u) })
				}
				out, err := r.inTime(shortLead, run)
				if err != nil {
					t.Fatalf("run the experiment: %v", err)
				}
				r.mustBeIdle()
				rec := r.read(out.Folders[0], 0)
				if !shown {
					t.Error("no progress was shown")
				}
				checkGenerated(t, rec, n)
				mu.Lock()
				defer mu.Unlock()
				all[n] = outcome{l.calls, dues(t, rec.dir), rec}
			})
		}
	})
	one := all[0]
	for _, n := range []int{2, 4} {
		got := all[n]
		if len(one.calls) < 500 || !maps.Equal(got.calls, one.calls) {
			t.Errorf("%d generators sent %d different requests, want the %d of one machine, each as often", n, len(got.calls), len(one.calls))
		}
		if len(one.dues) == 0 || !maps.Equal(got.dues, one.dues) {
			t.Errorf("%d generators had requests due at %v, want %v", n, got.dues, one.dues)
		}
		if got, want := got.rec.run.Totals, one.rec.run.Totals; got.Offered != 700 || got.OK != want.OK || got.BytesWritten != want.BytesWritten || got.BytesRead != want.BytesRead {
			t.Errorf("%d generators counted %+v, want %+v but for when", n, *got, *want)
		}
	}
}

// checkGenerated checks the records from generators that all issued their parts.
func checkGenerated(t *testing.T, rec record, n int) {
	t.Helper()
	if len(rec.run.Generators) != n || len(rec.run.Steps) != 2 {
		t.Fatalf("%d generators and %d steps are on record, want %d and 2", len(rec.run.Generators), len(rec.run.Steps), n)
	}
	var sum results.Totals
	clients := [2]int{}
	for i, g := range rec.run.Generators {
		if g.Lost != "" || g.Clock == nil || g.Clock.N < 16 || g.Clock.Error <= 0 || g.SchedulingLag == nil || g.Lateness == nil || g.Totals == nil || len(g.Steps) != 2 {
			t.Errorf("generator %d: %+v, want its clock, its lag and its parts of two steps", i+1, g)
			continue
		}
		for k, s := range g.Steps {
			clients[k] += s.Clients
			if s.FirstSentNS < 0 || s.CPUNS < 0 || s.OK == 0 || s.AnswerNS == 0 {
				t.Errorf("generator %d: step %+v, want when it first sent, and its processor time and answers", i+1, s)
			}
		}
		sum = sum.Minus(results.Totals{}.Minus(*g.Totals))
		samples, err := results.ReadSamples(filepath.Join(issue.Folder(rec.dir, i), results.FileClient))
		if err != nil || len(samples) == 0 {
			t.Errorf("generator %d: %d samples, error %v, want some", i+1, len(samples), err)
		}
	}
	if n > 0 && (sum != *rec.run.Totals || clients != [2]int{8, 12}) {
		t.Errorf("parts of %+v by %v clients, want together %+v by 8 and 12", sum, clients, *rec.run.Totals)
	}
	if lone := rec.run.Lateness != nil; lone != (n == 0) {
		t.Errorf("one lateness of %d generators is on record: %v", n, lone)
	}
}

// TestGeneratorDies: the others issue their parts to the end, the run is recorded but not valid,
// and the lost generator is named.
func TestGeneratorDies(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	key := r.generate(3, true)
	e := r.experiment(key + "load: {rate: 100, duration: 15s, clients: 6, key_size: 32, value_size: 64, timeout: 60s}\ndatabases: {fake: {}}\n")
	var said []string
	dies := once(loading, func() { r.generators["127.0.61.2:3500"].server.Stop() })
	out, err := r.run(e, func(u Update) {
		dies(u)
		said = append(said, u.Text)
	})
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	r.mustBeIdle()
	if !slices.ContainsFunc(out.Invalid, func(s string) bool { return strings.HasPrefix(s, "fake: generator lost: generator 127.0.61.2:3500: ") }) {
		t.Errorf("invalid: %q, want the lost generator by name", out.Invalid)
	}
	if slices.ContainsFunc(out.Invalid, func(s string) bool { return strings.HasPrefix(s, "fake: "+mark.Counts+":") }) {
		t.Errorf("invalid: %q, want that no outcome is missed of requests in flight on the lost generator", out.Invalid)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "generator 127.0.61.2:3500: ") }) {
		t.Errorf("the loss was not reported: %q", said)
	}
	f, err := results.Open(out.Folders[0])
	if err != nil {
		t.Fatalf("open the result folder: %v", err)
	}
	m, err := f.Manifest()
	if err != nil {
		t.Fatalf("read the manifest: %v", err)
	}
	run := m.Databases[0]
	if run.State != results.StateComplete || run.Keys == nil || run.Keys.Error == "" {
		t.Errorf("the run is %s with keys %+v, want it complete, and the keys not counted", run.State, run.Keys)
	}
	sum := int64(0)
	for i, g := range run.Generators {
		lost := i == 1
		if (g.Lost != "") != lost || g.Totals == nil || !lost && (g.Totals.Offered != 500 || !g.Totals.Reconcile()) || lost && g.Totals.Offered >= 500 {
			t.Errorf("generator %d: lost %q, totals %+v, want only the second lost, and all 500 requests of the others", i+1, g.Lost, g.Totals)
		}
		sum += g.Totals.Offered
	}
	rows, err := results.ReadIntervals(filepath.Join(f.Path(run.Tag), results.FileIntervals))
	if err != nil {
		t.Fatalf("read the seconds: %v", err)
	}
	due := int64(0)
	for _, row := range rows {
		due += row.Due
	}
	if due != sum || due != run.Totals.Offered {
		t.Errorf("the seconds have %d requests, the totals %d and the generators %d; want one number", due, run.Totals.Offered, sum)
	}
}

// TestGeneratorsInterrupted: an interrupt ends the load on all generators, with whole records.
func TestGeneratorsInterrupted(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	key := r.generate(2, true)
	e := r.experiment(key + "load: {rate: 100, duration: 1h, clients: 4, key_size: 32, value_size: 64, timeout: 60s}\ndatabases: {fake: {}}\n")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	out, err := r.runCtx(ctx, e, once(loading, func() { end(errSignal) }))
	r.mustBeInterrupted(out, err)
	rec := r.read(out.Folders[0], 0)
	for i, g := range rec.run.Generators {
		if g.Lost != "" || g.Totals == nil || !g.Totals.Reconcile() {
			t.Errorf("generator %d: lost %q, totals %+v, want whole ones", i+1, g.Lost, g.Totals)
		}
	}
}

// TestGeneratorsRefused: a run without its generators starts nothing.
func TestGeneratorsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := r.generate(2, false) + small + "databases: {fake: {}}\n"
	out, err := r.run(r.experiment(file), nil)
	if err == nil || !strings.Contains(err.Error(), "fake: generator 127.0.61.1:3500: this agent does not issue loads") || len(out.Folders) > 0 {
		t.Errorf("error %v and folders %q, want that the agent issues no loads, and no folder", err, out.Folders)
	}
	o := r.options(r.experiment(file), nil)
	o.ConnectGenerator = nil
	if _, err := Run(t.Context(), o); !errors.Is(err, errNoGenerators) {
		t.Errorf("error %v, want %v", err, errNoGenerators)
	}
	var b bytes.Buffer
	err = DryRun(&b, o, Agents{Refuse: func(addr string) error {
		if strings.HasPrefix(addr, "127.0.61.2:") {
			return os.ErrPermission
		}
		return nil
	}})
	const want = "\ngenerators: 127.0.61.1:3500, 127.0.61.2:3500, each takes every 2nd request, client and connection; control issues none\n"
	if !strings.Contains(b.String(), want) || err == nil || err.Error() != "generator 127.0.61.2:3500: permission denied" {
		t.Errorf("error %v, plan:\n%s\nwant the line %q and the refusal", err, b.String(), want)
	}
}
