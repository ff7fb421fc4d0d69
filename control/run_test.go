package control

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

func TestRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment(`load: {key_size: 32, value_size: 64, timeout: 60s, steps: [{clients: 3, requests: 300}, {clients: 6, requests: 600}]}
databases:
  fake__it: {}
`)
	exported := filepath.Join(t.TempDir(), "deep", "series.csv")
	e.Export = map[string]string{results.FileClassicTimeseries: exported, "missing.csv": filepath.Join(t.TempDir(), "missing.csv")}
	out := r.mustRun(e, once(loading, r.checkRunning))
	if len(out.Folders) != 1 {
		t.Fatalf("unexpected folders %q", out.Folders)
	}
	rec := r.read(out.Folders[0], 0)

	m := rec.manifest
	if m.State != results.StateComplete || m.Ended.Before(m.Started) || len(m.RunID) != 32 || m.Trial != 1 || m.Trials != 1 || m.Client.CPUs == 0 {
		t.Errorf("manifest: %+v", m)
	}
	run := rec.run
	if run.State != results.StateComplete || run.Error != "" || run.Tag != "fake-it" || run.Leader != 0 {
		t.Errorf("run: %+v", run)
	}
	if want := (results.Totals{Offered: 900, Sent: 900, OK: 900, BytesWritten: 900 * 96}); *run.Totals != want {
		t.Errorf("totals %+v, want %+v", *run.Totals, want)
	}
	if want := (results.Keys{After: 900, MinAdded: 900, MaxAdded: 900}); *run.Keys != want {
		t.Errorf("keys %+v, want %+v", *run.Keys, want)
	}
	checkTimes(t, run)
	checkMembers(t, rec)
	checkFiles(t, rec.dir, 3)

	want := []string{"start", "ready", "leader 1", "load start", "client step", "client step", "load end", "stop 1", "stop 2", "stop 3"}
	if diff := cmp.Diff(want, rec.kinds()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// That the client was stopped is noted in the end, with the time at which it was.
	noted := slices.DeleteFunc(slices.Clone(rec.events), func(e results.Event) bool { return e.Kind == results.EventStopped })
	if !slices.IsSortedFunc(noted, func(a, b results.Event) int { return a.Time.Compare(b.Time) }) {
		t.Error("the times of the events are not in order")
	}
	if !slices.Contains(rec.marks(), mark.SharedHost) {
		t.Errorf("marks %q, want that the host is shared", rec.marks())
	}
	original, err := os.ReadFile(filepath.Join(rec.dir, results.FileClassicTimeseries))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if copied, err := os.ReadFile(exported); err != nil || string(copied) != string(original) {
		t.Errorf("exported %q: %v", copied, err)
	}
}

// checkRunning checks the manifest that would remain if control were killed while loading.
func (r *rig) checkRunning() {
	paths, err := filepath.Glob(filepath.Join(r.results, "*", "*", results.FileManifest))
	if err != nil || len(paths) != 1 {
		r.t.Errorf("manifests %q: %v", paths, err)
		return
	}
	f, err := results.Open(filepath.Dir(paths[0]))
	if err != nil {
		r.t.Errorf("open the result folder: %v", err)
		return
	}
	m, err := f.Manifest()
	if err != nil || m.State != results.StateRunning || len(m.Databases) != 1 {
		r.t.Errorf("manifest %+v: %v", m, err)
		return
	}
	run := m.Databases[0]
	if run.State != results.StateRunning || run.Leader != 0 || run.Ready.IsZero() || len(run.Members[2].Argv) != 1 || run.Members[2].Version != "1.0.0" {
		r.t.Errorf("run while loading: %+v", run)
	}
}

// checkTimes checks the times of steps.
func checkTimes(t *testing.T, run *results.DatabaseRun) {
	t.Helper()
	if len(run.Steps) != 2 {
		t.Fatalf("steps %+v", run.Steps)
	}
	times := []time.Time{run.Started, run.Ready, run.LoadStart}
	for i, s := range run.Steps {
		if s.Index != i || s.Clients != 3*(i+1) || s.Connections != s.Clients || s.Requests != int64(300*(i+1)) || s.InsideNS <= 0 {
			t.Errorf("step %d: %+v", i, s)
		}
		times = append(times, s.Start, s.IssueEnd, s.End)
	}
	times = append(times, run.LoadEnd, run.Ended)
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		t.Errorf("times are not in order: %v", times)
	}
}

// checkMembers checks the members in the manifest.
func checkMembers(t *testing.T, rec record) {
	t.Helper()
	for i, m := range rec.run.Members {
		n := string(rune('1' + i))
		switch {
		case m.Index != i, m.Version != "1.0.0", m.Error != "", m.Endpoint != m.Listen[0]:
			t.Errorf("member %s: %+v", n, m)
		case len(m.Argv) != 1 || m.Argv[0][1] != "serve":
			t.Errorf("member %s ran %q", n, m.Argv)
		case m.Host == nil || m.Host.BootID != rec.manifest.Client.BootID:
			t.Errorf("member %s is on %+v", n, m.Host)
		case m.Clock == nil || m.Clock.N == 0 || m.Clock.Offset.Abs() > time.Second || m.Clock.Error > time.Second:
			t.Errorf("member %s: clock %+v", n, m.Clock)
		case m.Disk == nil || m.Disk.Filesystem == "" || m.Disk.FsyncP50 == 0 || (i == 0) != (m.Disk.ApparentBytes > 0):
			t.Errorf("member %s: disk %+v", n, m.Disk)
		case len(m.Environment) != 1 || m.Environment[0].Command != "fake" || m.Environment[0].OpenFiles == 0 || m.Environment[0].Compiler != runtime.Version():
			t.Errorf("member %s: environment %+v, want a limit and the compiler %s", n, m.Environment, runtime.Version())
		}
		if diff := cmp.Diff([]string{"fake: exit 0 after interrupt"}, m.Exit); diff != "" {
			t.Errorf("member %s: exit %s", n, diff)
		}
		if diff := cmp.Diff([]string{n + "-" + results.FileServer, "logs/" + n + "-fake.log", n + "-" + results.FileAgentLog}, m.Files); diff != "" {
			t.Errorf("member %s: files %s", n, diff)
		}
		checkSamples(t, filepath.Join(rec.dir, results.ServerFile(i+1)), rec.run.LoadEnd)
	}
}

// checkSamples requires a last sample after the load, while the member process ran.
func checkSamples(t *testing.T, path string, loadEnd time.Time) {
	t.Helper()
	samples, err := results.ReadSamples(path)
	if err != nil || len(samples) == 0 {
		t.Fatalf("read the samples: %d, %v", len(samples), err)
	}
	last := samples[len(samples)-1]
	if last.Get(metric.Processes) != 1 || last.UnixNano < loadEnd.UnixNano() {
		t.Errorf("the last sample is of %g processes at %v, want one process after the load's end at %v", last.Get(metric.Processes), time.Unix(0, last.UnixNano), loadEnd)
	}
}

// memberFiles is the number of files that an agent has for a member: samples, the log of its
// command, and the log of the agent itself.
const memberFiles = 3

// checkFiles requires every canonical file and every classic one, and nothing incomplete.
func checkFiles(t *testing.T, dir string, members int) {
	t.Helper()
	want := []string{
		results.FileIntervals, results.FileProgress, results.FileMembers, results.FileMembersLatency, results.FileErrors, results.FileLatency, results.FileTotal, results.FileEvents, results.FileClient,
		results.FileDisk, results.FileClassicSummary, results.FileClassicPercentile, results.FileClassicAll,
		results.FileClassicTimeseries, results.FileClassicByKey, results.FileClientInterpolated,
	}
	if members > 0 {
		want = append(want, results.FileClock)
	}
	for n := 1; n <= members; n++ {
		i := string(rune('0' + n))
		want = append(want, results.ServerFile(n), i+"-"+results.FileServerInterpolated, "logs/"+i+"-fake.log", i+"-"+results.FileAgentLog)
	}
	for _, name := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err != nil:
			t.Errorf("stat the file: %v", err)
		case info.Size() == 0 && !strings.HasPrefix(name, results.DirLogs):
			t.Errorf("the file %s is empty, want records", name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".part" {
			t.Errorf("the unfinished file %s was left", path)
		}
		return err
	})
	if err != nil {
		t.Errorf("walk the folder: %v", err)
	}
}

func TestLoads(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, tc := range []struct {
		name, rest string
		check      func(*testing.T, record)
	}{
		{
			name: "a rate",
			rest: "load: {rate: 400, duration: 1s, clients: 8, key_size: 32, value_size: 64}\ndatabases: {fake: {}}\n",
			check: func(t *testing.T, rec record) {
				if got := rec.run.Totals; got.Offered != 400 || got.OK != 400 {
					t.Errorf("totals %+v", got)
				}
				if s := rec.run.Steps[0]; s.Duration != time.Second || s.Rate != 400 {
					t.Errorf("step %+v", s)
				}
				if l := rec.run.Load; l.Arrival != "constant" || l.Backlog != "keep" || l.Drain == 0 {
					t.Errorf("load %+v", l)
				}
			},
		},
		{
			name: "a rate that grows",
			rest: "load: {rate: 100, rate_end: 500, duration: 1s, clients: 8, key_size: 32, value_size: 64}\ndatabases: {fake: {}}\n",
			check: func(t *testing.T, rec record) {
				if s := rec.run.Steps[0]; s.Rate != 100 || s.RateEnd != 500 || rec.run.Totals.Offered != 300 {
					t.Errorf("step %+v, totals %+v", s, rec.run.Totals)
				}
				if l := rec.run.Load; l.Rate != 100 || l.RateEnd != 500 {
					t.Errorf("load %+v", l)
				}
			},
		},
		{
			name: "a rate that is not sustained",
			rest: "load: {rate: 400, duration: 1s, clients: 2, key_size: 32, value_size: 64, drain: 50ms}\ndatabases: {fake: {options: {delay: 20ms}}}\n",
			check: func(t *testing.T, rec record) {
				if got := rec.run.Totals; got.Offered != 400 || got.Unsent < 200 || got.OK == 0 {
					t.Errorf("totals %+v", got)
				}
				if marks := rec.marks(); !slices.Contains(marks, "!"+mark.Unsent) || !slices.Contains(marks, "!"+mark.Rate) {
					t.Errorf("unexpected marks %q", marks)
				}
			},
		},
		{
			name: "reads",
			rest: "load: {operation: read, same_key: true, requests: 300, clients: 6, key_size: 32, value_size: 64}\ndatabases: {fake: {}}\n",
			check: func(t *testing.T, rec record) {
				if got := rec.run.Totals; got.OK != 300 || rec.run.Keys != nil || rec.run.Load.Read != "linearizable" {
					t.Errorf("totals %+v, keys %+v, load %+v", got, rec.run.Keys, rec.run.Load)
				}
			},
		},
		{
			name: "one key",
			rest: "load: {same_key: true, requests: 300, clients: 6, key_size: 32, value_size: 64}\ndatabases: {fake: {}}\n",
			check: func(t *testing.T, rec record) {
				if want := (results.Keys{After: 1, MaxAdded: 1}); *rec.run.Keys != want {
					t.Errorf("keys %+v", rec.run.Keys)
				}
			},
		},
		{
			name: "errors",
			rest: small + "databases: {fake: {options: {fail_every: 10, lose_every: 7}}}\n",
			check: func(t *testing.T, rec record) {
				// Among 300 writes every 10th is refused, and every 7th of the rest lost.
				want := results.Totals{Offered: 300, Sent: 300, OK: 232, Failed: 30, Unknown: 38, BytesWritten: 232 * 96}
				if *rec.run.Totals != want {
					t.Errorf("totals %+v, want %+v", *rec.run.Totals, want)
				}
				if want := (results.Keys{After: 270, MinAdded: 232, MaxAdded: 270}); *rec.run.Keys != want {
					t.Errorf("keys %+v", rec.run.Keys)
				}
				if len(rec.run.LogRules) != 1 {
					t.Errorf("log rules %v", rec.run.LogRules)
				}
				log, err := os.ReadFile(filepath.Join(rec.dir, results.DirLogs, "1-fake.log"))
				if err != nil || strings.Count(string(log), "refused write ") != 30 {
					t.Errorf("log %q: %v", log, err)
				}
			},
		},
		{
			name: "the leader alone",
			rest: "load: {requests: 100, clients: 2, key_size: 32, value_size: 64, target: leader}\ndatabases: {fake: {}}\n",
			check: func(t *testing.T, rec record) {
				if rec.run.Totals.OK != 100 || rec.run.Load.Target != "leader" {
					t.Errorf("totals %+v of %+v", rec.run.Totals, rec.run.Load)
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			out, err := r.run(r.experiment(tc.rest), nil)
			if err != nil {
				t.Fatalf("run the experiment: %v", err)
			}
			r.mustBeIdle()
			tc.check(t, r.read(out.Folders[0], 0))
		})
	}
}

// A cluster that one run leaves running is taken over by the next one by its tag.
func TestLeftRunning(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	steps := func(start, load, stop bool) string {
		return fmt.Sprintf("databases: {fake: {steps: {start: %v, load: %v, stop: %v}}}", start, load, stop)
	}
	pids := func() (pids []string) {
		for _, a := range r.agents {
			pids = append(pids, a.servers(t)...)
		}
		return pids
	}
	var running []string
	for i, tc := range []struct {
		rest  string
		total int64 // keys by then
		exits int
	}{
		{rest: small + steps(true, true, false), total: 300},
		{rest: small + steps(false, true, false), total: 600}, // writes make new keys
		{rest: small + steps(false, false, true), exits: 1},
	} {
		out, err := r.run(r.experiment(tc.rest), nil)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		rec := r.read(out.Folders[0], 0)
		if rec.run.State != results.StateComplete || (tc.total > 0) != (rec.run.Keys != nil) || tc.total > 0 && rec.run.Keys.After != tc.total {
			t.Errorf("run %d is %s, keys %+v", i+1, rec.run.State, rec.run.Keys)
		}
		for n, m := range rec.run.Members {
			if len(m.Exit) != tc.exits || (m.Disk != nil) != (tc.exits > 0) || len(m.Files) != memberFiles || m.Version != "1.0.0" || m.Error != "" {
				t.Errorf("run %d: member %d: %+v", i+1, n+1, m)
			}
			if s := r.status(n); tc.exits == 0 && (s.State != pb.State_STATE_RUNNING || !s.Owner.GetDetached()) {
				t.Errorf("run %d leaves agent %d %v of %v", i+1, n+1, s.State, s.Owner)
			}
		}
		if i == 0 {
			running = pids()
		}
		if tc.exits == 0 && (len(running) != rigSize || !slices.Equal(running, pids())) {
			t.Errorf("after run %d processes %v serve, of %v", i+1, pids(), running)
		}
	}
	r.mustBeIdle()
	_, err := r.run(r.experiment(small+steps(false, true, true)), nil)
	if err == nil || !strings.Contains(err.Error(), `no detached session of "fake" is running on this agent`) {
		t.Errorf("a run that takes over nothing: %v", err)
	}
	r.mustBeIdle()
}

// A cluster that was to be left running, but never ran, is stopped.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.run(r.experiment(small+"databases: {frail: {steps: {start: true, load: true, stop: false}}}"), nil)
	if err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("error %v", err)
	}
	r.mustBeIdle()
}

func TestTrials(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	e := r.experiment("trials: 2\nsettle: 120ms\n" + small + "databases: {fake__a: {}, fake__b: {}}")
	out := r.mustRun(e, func(u Update) {
		if u.Trials != 2 || u.Trial < 1 || u.Trial > 2 {
			t.Errorf("update %+v", u)
		}
	})
	if len(out.Folders) != 2 {
		t.Fatalf("unexpected folders %q", out.Folders)
	}
	var order [][]string
	for i, folder := range out.Folders {
		if !strings.HasSuffix(folder, fmt.Sprintf("-trial-%d", i+1)) {
			t.Errorf("trial %d is in %s", i+1, folder)
		}
		a, b := r.read(folder, 0), r.read(folder, 1)
		order = append(order, []string{a.run.Tag, b.run.Tag})
		if a.manifest.Trial != i+1 || a.manifest.Trials != 2 || a.run.Keys.Before != 0 || b.run.Keys.Before != 0 {
			t.Errorf("trial %d: %+v", i+1, a.manifest)
		}
	}
	if diff := cmp.Diff([][]string{{"fake-a", "fake-b"}, {"fake-b", "fake-a"}}, order); diff != "" {
		t.Errorf("order of databases: %s", diff)
	}
	first, second := r.read(out.Folders[0], 0).manifest, r.read(out.Folders[1], 0).manifest
	if gap := second.Started.Sub(first.Ended); gap < e.Settle {
		t.Errorf("the second trial began %v after the first, want %v", gap, e.Settle)
	}
}

// Trials missing from an interrupted run are made later, with the numbers and in the order that
// they would have had.
func TestSomeTrials(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	e := r.experiment("trials: 3\nsettle: 1h\n" + small + "databases: {fake__a: {}, fake__b: {}}")
	o := r.options(e, nil)
	o.Trials = []int{2}
	out, err := Run(t.Context(), o)
	if err != nil || len(out.Folders) != 1 || !strings.HasSuffix(out.Folders[0], "-trial-2") {
		t.Fatalf("only the second trial must run, got %q: %v", out.Folders, err)
	}
	first := r.read(out.Folders[0], 0)
	if first.manifest.Trial != 2 || first.manifest.Trials != 3 || first.run.Tag != "fake-b" {
		t.Errorf("the second trial must begin with the second database: trial %d of %d, %s first", first.manifest.Trial, first.manifest.Trials, first.run.Tag)
	}
}

// A database that fails does not keep the others from running.
func TestOneFails(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out, err := r.run(r.experiment(small+"databases: {frail: {}, fake: {}}"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "frail: wait for a quorum: ") {
		t.Errorf("error %v", err)
	}
	r.mustBeIdle()
	first, second := r.read(out.Folders[0], 0), r.read(out.Folders[0], 1)
	if first.run.State != results.StateFailed || second.run.State != results.StateComplete || first.manifest.State != results.StateFailed {
		t.Errorf("%s and %s in %s", first.run.State, second.run.State, first.manifest.State)
	}
}

// A cluster that others run is measured without agents.
func TestEndpoints(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	c := databasetest.Start(t, databasetest.Suite{
		Database: fake.Database(), Addrs: []string{r.agents[0].host, r.agents[1].host, r.agents[2].host},
	}, rigSize)
	endpoints := c.Target().Endpoints
	out := r.mustRun(r.parse(fmt.Sprintf("title: elsewhere\nresults: %s\n%sdatabases: {fake: {endpoints: [%s]}}",
		r.results, small, strings.Join(endpoints, ", "))), nil)
	rec := r.read(out.Folders[0], 0)
	if rec.run.Totals.OK != 300 || rec.run.Keys.After-rec.run.Keys.Before != 300 || rec.run.Leader != 0 {
		t.Errorf("run %+v, totals %+v", rec.run, rec.run.Totals)
	}
	if len(rec.run.Members) != rigSize {
		t.Fatalf("members %+v", rec.run.Members)
	}
	for i, m := range rec.run.Members {
		want := results.Member{Index: i, Addr: r.agents[i].host, Endpoint: endpoints[i], Version: "1.0.0"}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Errorf("member %d: %s", i+1, diff)
		}
	}
	if diff := cmp.Diff([]string{"ready", "leader 1", "load start", "client step", "load end"}, rec.kinds()); diff != "" {
		t.Errorf("events %s", diff)
	}
	wantMarks(t, rec, mark.KeysLeft, mark.SharedHost, mark.Unmeasured)
	if rec.run.Fsync != "not known: the cluster was already running" {
		t.Errorf("fsync %q of a cluster that was not started here", rec.run.Fsync)
	}
	checkFiles(t, rec.dir, 0)
}
