package control

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/sidecar"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// classicRig returns an experiment with two databases that analyze reads under uploaded names
// below dir.
func classicRig(t *testing.T, r *rig, dir string) *config.Experiment {
	t.Helper()
	e := r.experiment(`load: {key_size: 32, value_size: 64, timeout: 60s, clients: 2, requests: 50}
databases:
  fake__a: {}
  fake__b: {}
`)
	e.Classic = true
	e.Export = map[string]string{}
	e.Inputs = map[string]config.Inputs{}
	for _, name := range []string{results.FileClassicSummary, results.FileClientInterpolated} {
		e.Export[name] = filepath.Join(dir, "home", name)
		for _, db := range e.Databases {
			in := e.Inputs[db.Tag]
			if in.Files == nil {
				in.Files = map[string]string{}
			}
			in.Files[name] = filepath.Join(dir, "2018Q1", db.Tag+"-"+name)
			in.Servers = []string{filepath.Join(dir, "2018Q1", db.Tag+"-1-"+results.FileServerInterpolated)}
			e.Inputs[db.Tag] = in
		}
	}
	return e
}

// Several databases in one file keep their own copies, each with its manifest, and analyze finds
// them where the file names them.
func TestExportsOfSeveral(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r, dir := newRig(t), t.TempDir()
	e := classicRig(t, r, dir)
	var said []string
	r.mustRun(e, func(u Update) { said = append(said, u.Text) })
	for _, db := range e.Databases {
		for _, summary := range []string{
			filepath.Join(dir, "home", db.Tag+"-"+results.FileClassicSummary), filepath.Join(dir, "2018Q1", db.Tag+"-"+results.FileClassicSummary),
		} {
			m, err := sidecar.Read(summary)
			if err != nil || len(m.Databases) != 1 || m.Databases[0].Tag != db.Tag {
				t.Errorf("the manifest beside %s is not of %s: %v", summary, db.Tag, err)
			}
		}
		if _, err := os.Stat(e.Inputs[db.Tag].Servers[0]); err != nil {
			t.Errorf("the samples of a server that analyze reads: %v", err)
		}
	}
	if !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, "copied to "+filepath.Join(dir, "home")) }) {
		t.Errorf("control must report where copies go, it reported %q", said)
	}
}

// Copies are left out, with the reason, where another program's files are and where this process
// may not write. The run is not affected.
func TestExportsLeftOut(t *testing.T) {
	t.Parallel()
	r, dir := newRig(t), t.TempDir()
	e := classicRig(t, r, dir)
	if err := e.Select("fake__a"); err != nil {
		t.Fatal(err)
	}
	theirs := e.Inputs["fake-a"].Files[results.FileClassicSummary]
	if err := os.MkdirAll(filepath.Dir(theirs), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, []byte("of 2018"), 0o644); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "blocked") // a file where a folder would be
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name := range e.Export {
		e.Export[name] = filepath.Join(blocked, name)
	}
	var said []string
	out := r.mustRun(e, func(u Update) { said = append(said, u.Text) })
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "of 2018" {
		t.Errorf("the file of another program is %q (%v), want it as it was", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(theirs)); err != nil || len(left) != 1 {
		t.Errorf("beside another program's summary lie %v (%v), want nothing new", left, err)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"were made by another program", "no files are copied to " + blocked + ", which cannot be written"} {
		if !strings.Contains(all, want) {
			t.Errorf("control must report %q, it reported:\n%s", want, all)
		}
	}
	log, err := os.ReadFile(filepath.Join(out.Folders[0], "fake-a", results.FileControlLog))
	if err != nil || !strings.Contains(string(log), "were made by another program") || !strings.Contains(string(log), "the run is complete") {
		t.Errorf("control's log lacks what it reported (%v):\n%s", err, log)
	}
}

// Advice for a classic file names steps that its owner can take.
func TestAdviceForClassicFiles(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	e := r.experiment(small + "databases: {needy: {version: v1.1.0}}\n")
	e.Classic = true
	err := Check(t.Context(), r.options(e, nil))
	want := "run another release with --use-version needy=VERSION, or start the agents with --faked-exec"
	if err == nil || strings.Contains(err.Error(), "install: true") || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want advice that a classic file can follow: %q", err, want)
	}
	entry, err := r.registry.Get("needy")
	if err != nil {
		t.Fatal(err)
	}
	e.Databases[0].UseVersion = "9.9"
	if got := release(e, entry, &e.Databases[0]); got != "9.9" {
		t.Errorf("agents are asked for %q, want the release in place of the file's, 9.9", got)
	}
}

// TestSameNumbersFromBothFiles reads one short load from its records and from its classic files:
// the counters grew equally in both.
func TestSameNumbersFromBothFiles(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	e, out := sampled(t, r)
	ours, err := reading.FromFolder(out.Folders[0])
	if err != nil || len(ours) != 1 {
		t.Fatalf("read the records: %d runs, %v", len(ours), err)
	}
	in := e.Inputs["fake-a"]
	theirs := reading.FromClassic(reading.ClassicFiles{Record: &results.DatabaseRun{Tag: "fake-a"}, Files: in.Files, Servers: in.Servers})
	if got, want := theirs.Windows.Load, ours[0].Windows.Load; got != want {
		t.Errorf("the load lasted from %d to %d by the classic files, want %d to %d", got.From, got.To, want.From, want.To)
	}
	known := 0
	for _, m := range metric.System().Metrics() {
		if m.Kind != metric.Counter {
			continue
		}
		for name, machines := range map[string][2]*reading.Machine{
			"member 1": {&theirs.Machines.Servers[0], &ours[0].Machines.Servers[0]},
			"client":   {&theirs.Machines.Client, &ours[0].Machines.Client},
		} {
			got := machines[0].Growth(theirs.Windows.Load, reading.Of(m.Name))
			want := machines[1].Growth(ours[0].Windows.Load, reading.Of(m.Name))
			if got.Value != want.Value || got.Known() != want.Known() {
				t.Errorf("%s of %s: %g (%s) by the classic files, %g (%s) by the records", m.Name, name, got.Value, got.Missing, want.Value, want.Missing)
			}
			if want.Known() {
				known++
			}
		}
	}
	if known < 10 {
		t.Errorf("only %d counters are known", known)
	}
}

// sampled runs an experiment, and again if a busy machine missed a sample of the client or of member
// 1: classic files have an interpolated row in its place, and the records have none.
func sampled(t *testing.T, r *rig) (e *config.Experiment, out *Outcome) {
	t.Helper()
	out, _ = again(t, func() (*Outcome, error) {
		e = classicRig(t, r, t.TempDir())
		if err := e.Select("fake__a"); err != nil {
			t.Fatal(err)
		}
		e.Databases[0].Load.Rate = 40 // so that 50 requests touch two seconds: each has one row
		return r.mustRun(e, nil), nil
	}, func(out *Outcome, _ error) string {
		for _, file := range []string{results.FileClient, results.ServerFile(1)} {
			samples, err := results.ReadSamples(filepath.Join(out.Folders[0], "fake-a", file))
			if err != nil {
				t.Fatalf("read the samples: %v", err)
			}
			if slices.ContainsFunc(results.Interpolate(samples), func(s results.Sample) bool { return s.Interpolated }) {
				return "a sample was missed"
			}
		}
		return ""
	})
	return e, out
}
