package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
)

// rig is agents inside this process, each on its own loopback address, with helpers for tests.
type rig struct {
	t        *testing.T
	registry *database.Registry
	results  string
	cache    string      // for releases, shared by the agents
	agents   []*rigAgent // by member
	// tap may replace an agent client with one that misbehaves.
	tap func(member int, c pb.AgentClient) pb.AgentClient
	// generators are those in the test, by agent address.
	generators map[string]*rigGenerator
	lead       time.Duration // before steps of generators
}

type rigAgent struct {
	host     string // address
	addr     string // of the agent
	port     int    // of the member
	workDir  string
	client   pb.AgentClient
	listener *bufconn.Listener
}

// usualLead is the time before its start at which a step is announced to generators: on a busy
// machine they need seconds. shortLead suffices on most, and is tried where a test can run again.
const (
	usualLead = 4 * time.Second
	shortLead = time.Second
)

// rigs numbers the rigs: concurrent tests use different addresses.
var rigs atomic.Int64

const (
	rigSize = 3
	maxRigs = 254 / rigSize
)

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, registry())
}

// newRigOf returns a rig whose agents allow some fault kinds.
func newRigOf(t *testing.T, registry *database.Registry, allowed ...string) *rig {
	t.Helper()
	r := &rig{t: t, registry: registry, lead: usualLead, results: filepath.Join(t.TempDir(), "results"), cache: filepath.Join(t.TempDir(), "cache")}
	first := int(rigs.Add(1)%maxRigs)*rigSize + 1
	for i := range rigSize {
		host := fmt.Sprintf("127.0.60.%d", first+i)
		r.agents = append(r.agents, &rigAgent{host: host, addr: host + ":3500", port: freePort(t, host), workDir: t.TempDir()})
		r.serve(r.agents[i], allowed...)
	}
	return r
}

func freePort(t *testing.T, host string) int {
	t.Helper()
	return freePorts(t, host, 1)[0]
}

// freePorts returns n different ports that are free.
func freePorts(t *testing.T, host string, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatalf("listen on the address: %v", err)
		}
		defer l.Close() // once all are known: a free port may be given again
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// serve runs an agent until the test ends. By then it must leave nothing.
func (r *rig) serve(a *rigAgent, allowed ...string) {
	t := r.t
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ag, err := agent.New(agent.Options{
		Registry: r.registry, WorkDir: a.workDir, Cache: r.cache, Self: databasetest.Self(), Interface: "lo", AllowFaults: allowed,
		Deadlines: process.Deadlines{Interrupt: 30 * time.Second, Terminate: 5 * time.Second, Kill: 10 * time.Second}, // together less than control waits
		Version:   "v0-test", Log: log,
	})
	if err != nil {
		t.Fatalf("start the agent: %v", err)
	}
	listener := bufconn.Listen(1 << 20)
	a.listener = listener
	server := grpc.NewServer(agent.ServerOptions(log)...)
	ag.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn := a.dial(t)
	a.client = pb.NewAgentClient(conn)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(ag.Close(ctx), conn.Close()); err != nil {
			t.Errorf("close the agent: %v", err)
		}
		server.Stop()
		<-served
	})
}

func (a *rigAgent) dial(t *testing.T) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+a.addr,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return a.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("make a gRPC client: %v", err)
	}
	return conn
}

// connect implements Options.Connect for the agents in the rig, and dials TCP to any other address.
func (r *rig) connect(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
	for i, a := range r.agents {
		if a.addr != addr {
			continue
		}
		conn := a.dial(r.t)
		var client pb.AgentClient = pb.NewAgentClient(conn)
		if r.tap != nil {
			client = r.tap(i, client)
		}
		return client, conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return pb.NewAgentClient(conn), conn, nil
}

// small is a short load.
const small = "load: {requests: 300, clients: 6, key_size: 32, value_size: 64, timeout: 60s}\n"

// experiment reads the rest of an experiment file over the rig hosts.
func (r *rig) experiment(rest string) *config.Experiment {
	r.t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "title: %s\nresults: %s\nhosts:\n", r.t.Name(), r.results)
	for _, a := range r.agents {
		fmt.Fprintf(&file, "- {addr: %s, agent_port: 3500, ports: {client: %d}}\n", a.host, a.port)
	}
	return r.parse(file.String() + rest)
}

func (r *rig) parse(file string) *config.Experiment {
	r.t.Helper()
	e, _, err := config.Parse("test.yaml", []byte(file), r.registry.All())
	if err != nil {
		r.t.Fatalf("%v\n%s", err, file)
	}
	for i := range e.Databases { // a busy machine may need longer than the defaults
		l := &e.Databases[i].Load
		for _, d := range []*time.Duration{&l.Timeout, &l.Drain} {
			if *d == 10*time.Second {
				*d = time.Minute
			}
		}
	}
	return e
}

func (r *rig) options(e *config.Experiment, report func(Update)) Options {
	return Options{
		Experiment: e, Registry: r.registry, Connect: r.connect, ConnectGenerator: r.connectGenerator, GeneratorLead: r.lead, Owner: "tester of " + r.t.Name(), FullSpeed: true,
		Interface: "lo", ReadyTimeout: patience, Report: report,
		Log: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
	}
}

// run runs an experiment to its end.
func (r *rig) run(e *config.Experiment, report func(Update)) (*Outcome, error) {
	r.t.Helper()
	return r.runCtx(r.t.Context(), e, report)
}

func (r *rig) runCtx(ctx context.Context, e *config.Experiment, report func(Update)) (*Outcome, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, 2*patience, errors.New("the run hangs"))
	defer cancel()
	return Run(ctx, r.options(e, report))
}

// hurried runs an experiment whose generators learn about a step shortly before it begins.
func (r *rig) hurried(file string) (*Outcome, error) {
	r.t.Helper()
	return r.inTime(shortLead, func() (*Outcome, error) { return r.run(r.experiment(file), nil) })
}

// inTime runs an experiment with a lead, and again with longer ones while they are too short for a
// generator.
func (r *rig) inTime(lead time.Duration, run func() (*Outcome, error)) (*Outcome, error) {
	r.t.Helper()
	defer func() { r.lead = usualLead }()
	for r.lead = lead; ; r.lead *= 4 {
		out, err := run()
		if !r.late(out) || r.lead > 4*usualLead {
			return out, err
		}
		r.t.Logf("a lead of %v is too short for the generators of this machine", r.lead)
	}
}

// undisturbed runs an experiment whose times are seconds, which must succeed. It runs it again if
// something stopped this process for longer than most during a load: meanwhile sessions end and
// stages pass. It also does if another function returns a reason.
func (r *rig) undisturbed(most time.Duration, file string, spoilt ...func(*Outcome) (why string)) *Outcome {
	r.t.Helper()
	return r.repeated(file, func(out *Outcome) string {
		if stopped := r.stopped(out); stopped > most {
			return fmt.Sprintf("this process was stopped for %v", stopped)
		}
		for _, also := range spoilt {
			if why := also(out); why != "" {
				return why
			}
		}
		return ""
	})
}

// repeated runs an experiment, and again while spoilt returns a reason, at most attempts times.
func (r *rig) repeated(file string, spoilt func(*Outcome) (why string)) *Outcome {
	r.t.Helper()
	out, _ := again(r.t, func() (*Outcome, error) {
		out, err := r.hurried(file)
		if err != nil {
			r.t.Fatalf("run: %v", err)
		}
		r.mustBeIdle()
		return out, nil
	}, func(out *Outcome, _ error) string { return spoilt(out) })
	return out
}

// again calls run while spoilt returns a reason for what it returned, at most attempts times, and
// returns the last result.
func again(t *testing.T, run func() (*Outcome, error), spoilt func(*Outcome, error) (why string)) (*Outcome, error) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		out, err := run()
		why := spoilt(out, err)
		if why == "" || attempt == attempts {
			return out, err
		}
		t.Logf("attempt %d: %s", attempt, why)
	}
}

// attempts is the number of times that tests run an experiment on a machine that stops this
// process.
const attempts = 5

// databases returns the database records in out.
func (r *rig) databases(out *Outcome) (list []*results.DatabaseRun) {
	r.t.Helper()
	for _, folder := range out.Folders {
		f, err := results.Open(folder)
		if err != nil {
			r.t.Fatalf("open the result folder: %v", err)
		}
		m, err := f.Manifest()
		if err != nil {
			r.t.Fatalf("read the manifest: %v", err)
		}
		list = append(list, m.Databases...)
	}
	return list
}

// stopped returns the longest time for which a client was stopped.
func (r *rig) stopped(out *Outcome) (longest time.Duration) {
	r.t.Helper()
	for _, d := range r.databases(out) {
		for _, issuer := range d.Issuers() {
			if issuer.Stops == nil {
				continue
			}
			for _, s := range issuer.Stops.Stretches {
				longest = max(longest, s.Length)
			}
		}
	}
	return longest
}

// late reports whether a generator was lost because its lead was too short for this machine.
func (r *rig) late(out *Outcome) bool {
	r.t.Helper()
	return slices.ContainsFunc(r.databases(out), func(d *results.DatabaseRun) bool {
		return slices.ContainsFunc(d.Generators, func(g results.Generator) bool { return strings.Contains(g.Lost, "it did not begin step") })
	})
}

// ofMachine are the codes of marks caused by busy test machines.
var ofMachine = [...]string{mark.Saturated, mark.Late, mark.Rate, mark.Stopped, mark.OtherLoad}

// ofRun returns the reasons that do not depend on how busy the machine is.
func ofRun(invalid []string) []string {
	return slices.DeleteFunc(slices.Clone(invalid), func(reason string) bool {
		return slices.ContainsFunc(ofMachine[:], func(code string) bool { return strings.Contains(reason, ": "+code+": ") })
	})
}

// mustRun runs an experiment that must succeed, and leaves nothing.
func (r *rig) mustRun(e *config.Experiment, report func(Update)) *Outcome {
	r.t.Helper()
	return r.mustBeDone(r.run(e, report))
}

// mustBeDone fails the test unless a run succeeded and left nothing.
func (r *rig) mustBeDone(out *Outcome, err error) *Outcome {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("run the experiment: %v", err)
	}
	if invalid := ofRun(out.Invalid); len(invalid) > 0 {
		r.t.Errorf("invalid: %q", invalid)
	}
	r.mustBeIdle()
	return out
}

// mustBeIdle fails the test unless all agents are free and nothing that they ran remains.
func (r *rig) mustBeIdle() {
	r.t.Helper()
	for i, a := range r.agents {
		s := r.status(i)
		if s.State != pb.State_STATE_IDLE {
			r.t.Errorf("agent %d is %v, owned by %v; want it idle", i+1, s.State, s.Owner)
		}
		entries, err := os.ReadDir(a.workDir)
		if err != nil {
			r.t.Errorf("list the folder: %v", err)
		}
		for _, e := range entries {
			if e.Name() != ".lock" {
				r.t.Errorf("agent %d still has %s in its work directory, want only its lock", i+1, e.Name())
			}
		}
	}
	r.mustHaveStopped()
}

// mustHaveStopped fails the test if a member still runs.
func (r *rig) mustHaveStopped() {
	r.t.Helper()
	lines := databasetest.CommandLines(r.t)
	for i, a := range r.agents {
		if pids := a.serversAmong(lines); len(pids) > 0 {
			r.t.Errorf("member %d still runs: pids %v", i+1, pids)
		}
	}
}

func (r *rig) status(member int) *pb.StatusResponse {
	r.t.Helper()
	s, err := r.agents[member].client.Status(context.Background(), &pb.StatusRequest{})
	if err != nil {
		r.t.Fatalf("ask for the status: %v", err)
	}
	return s
}

// servers returns the processes that serve the member, by their command lines.
func (a *rigAgent) servers(t *testing.T) []string {
	t.Helper()
	return a.serversAmong(databasetest.CommandLines(t))
}

// serversAmong is [rigAgent.servers] for processes by their command lines.
func (a *rigAgent) serversAmong(lines map[int][]byte) (pids []string) {
	flags := [][]byte{ // as in a fake and an etcd
		fmt.Appendf(nil, "--listen=%s:%d\x00", a.host, a.port), fmt.Appendf(nil, "--listen-client-urls=http://%s:%d\x00", a.host, a.port),
	}
	for _, pid := range slices.Sorted(maps.Keys(lines)) {
		if slices.ContainsFunc(flags, func(flag []byte) bool { return bytes.Contains(lines[pid], flag) }) {
			pids = append(pids, strconv.Itoa(pid))
		}
	}
	return pids
}

// record holds the records of one database in a result folder.
type record struct {
	manifest  *results.Manifest
	run       *results.DatabaseRun
	dir       string
	intervals []results.Interval
	events    []results.Event
}

// read reads the records for the folder's database number n, which must be whole: seconds sum to
// totals, and every request has one outcome.
func (r *rig) read(folder string, n int) record {
	r.t.Helper()
	f, err := results.Open(folder)
	if err != nil {
		r.t.Fatalf("open the result folder: %v", err)
	}
	var rec record
	if rec.manifest, err = f.Manifest(); err != nil {
		r.t.Fatalf("read the manifest: %v", err)
	}
	if n >= len(rec.manifest.Databases) {
		r.t.Fatalf("the manifest has %d databases", len(rec.manifest.Databases))
	}
	rec.run = rec.manifest.Databases[n]
	rec.dir = f.Path(rec.run.Tag)
	rec.events, err = results.ReadEvents(filepath.Join(rec.dir, results.FileEvents), len(rec.run.Members))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Errorf("read the events: %v", err)
	}
	if rec.manifest.State != results.StateRunning {
		r.checkDigests(rec)
	}
	if rec.run.Totals == nil {
		return rec
	}
	if rec.intervals, err = results.ReadIntervals(filepath.Join(rec.dir, results.FileIntervals)); err != nil {
		r.t.Errorf("read the intervals: %v", err)
	}
	if err := results.ReconcileLatency(rec.dir); err != nil {
		r.t.Errorf("reconcile latencies with counts: %v", err)
	}
	var sum results.Totals
	for _, i := range rec.intervals {
		sum.Offered += i.Due
		sum.Sent += i.Sent
		sum.OK += i.OK
		sum.Failed += i.Failed
		sum.Unknown += i.Unknown
		sum.Shed += i.Shed
		sum.Unsent += i.Unsent
		sum.Queued += i.Queued
		sum.Late += i.Late
		sum.BytesWritten += i.WrittenBytes
	}
	sum.Clamped, sum.BytesRead = rec.run.Totals.Clamped, rec.run.Totals.BytesRead // not recorded by second
	if sum != *rec.run.Totals || !sum.Reconcile() {
		r.t.Errorf("totals are %+v, the seconds sum to %+v", *rec.run.Totals, sum)
	}
	return rec
}

// kinds returns the events' kinds in order, each with its member, from 1, if it has one. A busy
// machine stops clients, which is left out.
func (r record) kinds() []string {
	var kinds []string
	for _, e := range r.events {
		if e.Kind == results.EventStopped {
			continue
		}
		kind := e.Kind
		if e.Member >= 0 {
			kind = fmt.Sprintf("%s %d", kind, e.Member+1)
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// marks returns the codes of marks, "!" before those that make the run invalid.
func (r record) marks() []string {
	var codes []string
	for _, m := range r.run.Validity {
		code := m.Code
		if m.Invalid {
			code = "!" + code
		}
		codes = append(codes, code)
	}
	return codes
}

// once calls f at the first update for which is holds.
func once(is func(Update) bool, f func()) func(Update) {
	var done sync.Once
	return func(u Update) {
		if is(u) {
			done.Do(f)
		}
	}
}

// at recognizes when a step or another text begins.
func at(text string) func(Update) bool {
	return func(u Update) bool { return u.Text == text }
}

// loading recognizes the first second of the load.
func loading(u Update) bool { return u.Load != nil }

// answering recognizes the first second of the load in which requests ended. The first second may
// be over before any request is sent.
func answering(u Update) bool { return u.Load != nil && u.Load.Ended > 0 }

// checkDigests requires a digest for every recorded file, equal to the digest of the file.
func (r *rig) checkDigests(rec record) {
	r.t.Helper()
	files, err := results.Digest(rec.dir)
	if err != nil {
		r.t.Fatalf("hash the records: %v", err)
	}
	if diff := cmp.Diff(files, rec.run.Digests.ByFile); diff != "" || len(rec.run.Digests.Changes) > 0 {
		r.t.Errorf("digests in the manifest (-files +manifest):\n%s\nchanges %v", diff, rec.run.Digests.Changes)
	}
}
