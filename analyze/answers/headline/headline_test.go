package headline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// experiment makes the runs in trials: for each, throughput and p99 of every database.
type experiment struct {
	rate   float64
	trials []map[string][2]float64
	order  []string
}

func (e experiment) runs() (runs []*run.Run) {
	at := time.Unix(1_800_000_000, 0)
	for n, trial := range e.trials {
		m := &results.Manifest{RunID: fmt.Sprint(n), Title: "t", Trial: n + 1, Trials: len(e.trials), Config: json.RawMessage(`{}`)}
		order := slices.Clone(e.order)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, tag := range order {
			v := trial[tag]
			at = at.Add(time.Minute)
			r := &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{
				Tag: tag, Database: tag, State: results.StateComplete, Moments: results.Moments{LoadStart: at}, Load: results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 92}, Pace: workload.Pace{Rate: e.rate}}},
			}}}
			if n > 0 {
				r.Info.Tag = fmt.Sprintf("%s #%d", tag, n+1)
			}
			latency := &run.Distribution{Max: run.Measured(2*v[1], 1000), Quantile: func(q float64) run.Measure { return run.Measured(v[1]*q, 1000) }}
			g := &run.Stage{Throughput: run.Throughput{Average: run.Measured(v[0], 1)}, Latency: run.Latency{Due: latency}}
			g.Availability.Success = run.Measured(100, 1000)
			if e.rate > 0 {
				g.Latency.Clock = run.FromDue
			}
			r.Stages = []*run.Stage{g}
			r.Load.Counts.OK = run.Counted(2000)
			runs = append(runs, r)
		}
	}
	return runs
}

// The verdict is the answer with its basis, and names the databases that are not valid.
func TestVerdict(t *testing.T) {
	e := experiment{order: []string{"etcd", "consul"}, trials: []map[string][2]float64{{"etcd": {1600, 5}, "consul": {1000, 9}}}}
	if got, want := Of(e.runs(), nil).Verdict, "etcd answered 1,600 writes a second and consul 1,000. One run of each is too few to name a winner."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h := Of(e.runs(), []run.Mark{{Tag: "etcd", Mark: results.Mark{Code: "keys found", Invalid: true, Text: "3 keys are missing"}}})
	if want := "Not compared: etcd is not valid."; !strings.Contains(h.Verdict, want) || !strings.Contains(h.Screen(), "etcd (not valid)") {
		t.Errorf("no %q in\n%s", want, h.Screen())
	}
}

// A grade follows from the machines, the trials and the doubts.
func TestGrade(t *testing.T) {
	values := map[string][2]float64{"etcd": {1600, 5}, "consul": {1000, 9}}
	trials := func(n int) (e experiment) {
		e.order = []string{"etcd", "consul"}
		for i := range n {
			by := 1 + float64(i%3)/100
			e.trials = append(e.trials, map[string][2]float64{"etcd": {1600 * by, 5 * by}, "consul": {1000 * by * by, 9}})
		}
		return e
	}
	late := run.Mark{Tag: "etcd", Mark: results.Mark{Code: mark.Unsteady, Text: "the level changed"}}
	for _, tt := range []struct {
		name   string
		e      experiment
		marks  []run.Mark
		shared bool
		want   string
	}{
		{"one run each", experiment{order: []string{"etcd", "consul"}, trials: []map[string][2]float64{values}}, nil, false, "Grade C, a look: each ran once."},
		{"too few trials", trials(3), nil, false, "Grade C, a look: there are too few trials to name a winner."},
		{"a shared machine", trials(10), nil, true, "Grade C, a look: clients and members share a machine."},
		{"a doubt", trials(10), []run.Mark{late}, false, "Grade B, a hint: a doubt below could change the order."},
		{"none", trials(10), nil, false, "Grade A, to decide by: the client had a machine of its own, and no doubt could change the order."},
		{"not valid", trials(10), []run.Mark{{Mark: results.Mark{Code: "counts", Invalid: true}}}, false, "not valid: the numbers must not be used."},
	} {
		runs := tt.e.runs()
		if tt.shared {
			runs[0].Info.Record.Validity = []results.Mark{{Code: mark.SharedHost}}
		}
		if got := Of(runs, tt.marks).Grade.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A terminal screen has at most 24 lines with 100 letters, whatever is in the report.
func TestScreenFits(t *testing.T) {
	e := experiment{order: []string{"etcd-with-a-long-name-1", "etcd-with-a-long-name-2", "etcd-with-a-long-name-3", "etcd-with-a-long-name-4"}, trials: []map[string][2]float64{{}}}
	var marks []run.Mark
	for i, tag := range e.order {
		e.trials[0][tag] = [2]float64{1000 * float64(i+1), 5}
		for _, code := range []string{mark.Unsteady, mark.OtherLoad, mark.Late} {
			marks = append(marks, run.Mark{Tag: tag, Mark: results.Mark{Code: code, Text: strings.Repeat("many words ", 30)}})
		}
	}
	lines := strings.Split(strings.TrimSuffix(Of(e.runs(), marks).Screen(), "\n"), "\n")
	if len(lines) > screenLines {
		t.Errorf("the screen has %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > screenWidth {
			t.Errorf("a line has %d letters: %s", utf8.RuneCountInString(l), l)
		}
	}
}

// Trials of one database are one column, with the median and its spread.
func TestTrialsAreOneColumn(t *testing.T) {
	e := experiment{order: []string{"etcd", "zookeeper"}, trials: []map[string][2]float64{
		{"etcd": {1600, 5}, "zookeeper": {1000, 9}}, {"etcd": {1500, 5}, "zookeeper": {1100, 8}}, {"etcd": {1800, 6}, "zookeeper": {900, 7}},
	}}
	h := Of(e.runs(), nil)
	if len(h.Columns) != 2 || h.Columns[0].Trials != 3 {
		t.Fatalf("columns are %+v, want two of three trials each", h.Columns)
	}
	best, second := h.Rows[0].Cells[0], h.Rows[0].Cells[1]
	if *best.Value != 1600 || *best.Low != 1500 || *best.High != 1800 || best.N != 3 || best.Spread != "1,500 .. 1,800 /s, n 3" || best.Doubt != "least and most of 3 trials" {
		t.Errorf("the best is %+v", best)
	}
	if *second.Value != 1000 {
		t.Errorf("the second is %+v", second)
	}
	text := h.Text()
	for _, want := range []string{"1,600 /s", "1,500 .. 1,800 /s, n 3", "1,000 /s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if want := "1,600 (1,500 .. 1,800, n 3)"; !strings.Contains(h.Markdown(), want) {
		t.Errorf("no %q in\n%s", want, h.Markdown())
	}
	if _, err := json.Marshal(h); err != nil {
		t.Errorf("encode: %v", err)
	}
}

type values = map[string]float64

// own is the mark on a client's own delay in a step that lasts 100 s.
func own(tag string, step, clients int, percent float64) run.Mark {
	return run.Mark{Tag: tag, Mark: results.NewMark(mark.Saturated, false, values{
		"step": float64(step), "clients": float64(clients), "share_percent": percent, "own_seconds": percent, "of_seconds": 100, "mark_percent": 5,
	}, nil)}
}

// Equal statements in the marks on many runs are one reason, with the text of the worst.
func TestTrust(t *testing.T) {
	runs := experiment{order: []string{"etcd"}, trials: []map[string][2]float64{{"etcd": {1, 1}}, {"etcd": {1, 1}}}}.runs()
	marked := func(tag, code, text string, invalid bool) run.Mark {
		return run.Mark{Tag: tag, Mark: results.Mark{Code: code, Text: text, Invalid: invalid}}
	}
	for _, tt := range []struct {
		name  string
		marks []run.Mark
		level Level
		text  string
		lines []string
	}{
		{"none", nil, Sound, "nothing was found that weakens these numbers.", nil},
		{"harmless", []run.Mark{marked("etcd", mark.Expected, "as expected", false)}, Sound, "nothing was found that weakens these numbers.", []string{"etcd: expected: as expected"}},
		{"without values, as older records have them", []run.Mark{
			marked("etcd", "other load", "others used 12.5 % of 2 processors", false), marked("etcd #2", "other load", "others used 9 % of 2 processors", false),
			marked("", "insecure", "agents let in anyone", false), marked("etcd", "shared host", "they share", false), marked("etcd #2", "shared host", "they share", false),
		}, Weakened, "valid, but weakened: other load, insecure, shared host.", []string{
			"etcd: other load: others used 12.5 % of 2 processors; and 1 more", "insecure: agents let in anyone", "etcd: shared host: they share"}},
		{"the worst of several", []run.Mark{
			own("etcd", 1, 1, 5.52), own("etcd #2", 4, 10, 12.4), own("etcd", 8, 1000, 7),
		}, Weakened, "valid, but weakened: client saturated.", []string{
			"etcd: client saturated: step 4, 10 clients: 12 % of the response times is delay in the client itself: 12 s of 1.7 min (mark above 5 %); the worst of 3"}},
		{"other sentences of one code", []run.Mark{
			own("etcd", 1, 1, 6), {Tag: "etcd", Mark: results.NewMark(mark.Saturated, false, values{"used_percent": 85, "processors": 2, "busy": 3, "sampled": 9}, nil)},
		}, Weakened, "valid, but weakened: client saturated.", []string{
			"etcd: client saturated: step 1, 1 client: 6 % of the response times is delay in the client itself: 6 s of 1.7 min (mark above 5 %)",
			"etcd: client saturated: this client used over 85 % of its 2 processors in 3 of 9 seconds"}},
		{"invalid", []run.Mark{marked("etcd", "late", "x", false), marked("etcd #2", "keys found", "1,003 keys are missing", true)}, NotValid,
			"NOT VALID: do not use the numbers of etcd.", []string{"etcd: INVALID keys found: 1,003 keys are missing", "etcd: late: x"}},
	} {
		h := Of(runs, tt.marks)
		if h.Trust.Level != tt.level || h.Trust.Text != tt.text {
			t.Errorf("%s: trust is %q: %s", tt.name, h.Trust.Level, h.Trust.Text)
		}
		if diff := cmp.Diff(tt.lines, h.Reasons()); diff != "" {
			t.Errorf("%s: reasons (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A reason has the number that its worst mark can change, and by how much if every mark is bounded.
func TestEffects(t *testing.T) {
	runs := experiment{order: []string{"etcd"}, trials: []map[string][2]float64{{"etcd": {1, 1}}, {"etcd": {1, 1}}}}.runs()
	text := func(marks ...run.Mark) string {
		var lines []string
		for _, r := range Of(runs, marks).Trust.Reasons {
			share := "unknown"
			if r.Effect.Share != nil {
				share = fmt.Sprintf("%.3f", *r.Effect.Share)
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %d", r.Code, r.Effect.Number, share, r.Marks))
		}
		return strings.Join(lines, "; ")
	}
	old := own("etcd", 1, 1, 6)
	old.Values = nil
	expected := run.Mark{Tag: "etcd", Mark: results.NewMark(mark.Expected, false, values{"member": 1, "expected_servers": 1}, map[string]string{"why": "killed"})}
	for want, got := range map[string]string{
		"client saturated latency 0.124 2":   text(own("etcd", 1, 1, 5.5), own("etcd #2", 2, 1, 12.4)),
		"client saturated latency unknown 1": text(old),
		"expected none 0.000 1":              text(expected),
		"shared host both unknown 1":         text(run.Mark{Tag: "etcd", Mark: results.NewMark(mark.SharedHost, false, nil, map[string]string{"who": "the client"})}),
		"a code of later both unknown 1":     text(run.Mark{Tag: "etcd", Mark: results.Mark{Code: "a code of later", Text: "something"}}),
	} {
		if got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// Settings that differ are above the numbers.
func TestUnequalStandsOnTop(t *testing.T) {
	runs := experiment{order: []string{"etcd", "zookeeper"}, trials: []map[string][2]float64{{"etcd": {1, 1}, "zookeeper": {2, 1}}}}.runs()
	runs[1].Info.Record.Fsync = "none"
	runs[0].Info.Record.Fsync = "every write"
	text := Of(runs, nil).Text()
	if at := strings.Index(text, "UNEQUAL fsync: etcd: every write; zookeeper: none"); at < 0 || at > strings.Index(text, "throughput") {
		t.Errorf("the differing setting must stand above the numbers:\n%s", text)
	}
}

// Numbers about one step and about the whole load never have the same name.
func TestNumbersSayWhatTheyAreOf(t *testing.T) {
	e := experiment{order: []string{"etcd", "consul"}, trials: []map[string][2]float64{{"etcd": {1600, 5}, "consul": {1000, 9}}}}
	names := func(h *Headline) (names []string) {
		for _, l := range h.lines() {
			names = append(names, strings.TrimSpace(strings.Join(append([]string{l.name}, slices.Concat(l.cells...)...), "|")))
		}
		return names
	}
	runs := e.runs()
	if got := strings.Join(names(Of(runs, nil)), "\n"); strings.Contains(got, stepName) || strings.Contains(got, wholeName) {
		t.Errorf("loads without steps are said to have some:\n%s", got)
	}
	runs[0].Stages[0].Label = "100 clients"
	h := Of(runs, nil)
	got := names(h)
	step, whole := slices.Index(got, stepName+"|100 clients|"), slices.Index(got, wholeName+"|all steps|")
	if step != 0 || whole < 1 {
		t.Fatalf("rows %q lack what they are of", got)
	}
	for i, name := range got {
		ofStep := strings.HasPrefix(name, throughputRow) || strings.HasPrefix(name, "p50") || strings.HasPrefix(name, p99Row) || strings.HasPrefix(name, "success")
		if i != step && i != whole && ofStep != (i < whole) {
			t.Errorf("%q is row %d, those of the whole load begin at %d", name, i, whole)
		}
	}
	for _, text := range []string{h.Text()} {
		if strings.Index(text, wholeName) < strings.Index(text, "success") || strings.Index(text, wholeName) > strings.Index(text, "server CPU") {
			t.Errorf("the numbers of the whole load do not follow the words:\n%s", text)
		}
	}
}

// A doubt could change the order if its effect reaches the smallest difference.
func TestDoubts(t *testing.T) {
	e := experiment{order: []string{"etcd", "consul"}, trials: []map[string][2]float64{{"etcd": {1600, 5}, "consul": {1000, 9}}}}
	small, large := .05, .7
	for _, tt := range []struct {
		name   string
		effect mark.Effect
		kind   string
		want   bool
	}{
		{"small", mark.Effect{Number: mark.Both, Share: &small}, "closed loop", false},
		{"large", mark.Effect{Number: mark.Both, Share: &large}, "closed loop", true},
		{"unknown", mark.Unknown(mark.Both), "closed loop", true},
		{"none", mark.Effect{Number: mark.None, Share: new(float64)}, "closed loop", false},
		{"latency of a closed loop", mark.Effect{Number: mark.Latency, Share: &large}, "closed loop", true},
		{"throughput at a rate", mark.Effect{Number: mark.Throughput, Share: &large}, "rate", false},
	} {
		if got := (Reason{Effect: tt.effect}).could(.6, tt.kind); got != tt.want {
			t.Errorf("%s: could change the order: %t, want %t", tt.name, got, tt.want)
		}
	}
	h := Of(e.runs(), nil)
	if gap := smallestGap(h.Answer, h.Points); gap < .59 || gap > .61 {
		t.Errorf("the smallest difference is %.3f, want 0.6", gap)
	}
}

// TestFactsFit: facts about several databases take the screen width, with the longest ones below.
func TestFactsFit(t *testing.T) {
	f := Facts{Columns: []string{"etcd", "zookeeper-3.9.5", "consul-1.21.0"}, Rows: []Fact{
		{Short: "longest pause", Texts: []string{"under 100 ms", "197 ms", "under 100 ms"}},
		{Short: "answers", Texts: []string{"no violation among all 32,534", "not judged", ""}},
		{Short: "CPU/1,000 requests", Texts: []string{"0.261 s", "0.663 s", "0.379 s"}},
		{Short: "server memory", Texts: []string{"89 MB", "249 MB", "145 MB"}},
		{Short: "disk bytes/payload byte", Texts: []string{"20.4", "8.22", "11.4"}},
	}}
	got := f.text()
	const below = "answers: etcd no violation among all 32,534 · zookeeper-3.9.5 not judged · consul-1.21.0 -\n"
	if lineWidth(got) > screenWidth || !strings.HasSuffix(got, "11.4\n"+below) || strings.Count(got, "answers") != 1 {
		t.Errorf("the facts are\n%s\nwant the answers in a line below a table of at most %d letters a line", got, screenWidth)
	}
	if len(f.Rows) != 5 {
		t.Errorf("%d facts remain for others, want 5", len(f.Rows))
	}
}
