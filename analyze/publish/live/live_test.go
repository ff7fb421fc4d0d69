package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/publish/page"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/trust/spectators"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestMain allows connections that net/http closes half a second after an answer that refused a
// request whose body was not read.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// progress is a second in a load with a rate, at its end.
func progress(second int, ended, errors int64) load.Progress {
	return load.Progress{
		Step: load.Step{Step: workload.Step{Clients: 10, Rate: 100}}, Elapsed: time.Duration(second) * time.Second, Span: time.Second,
		Done: int64(second) * ended, Offered: 100, Ended: ended, Errors: errors, Faulty: errors, InFlight: 3, P50: 2 * time.Millisecond, P99: 30 * time.Millisecond,
	}
}

// sampleOf returns a sample from a machine.
func sampleOf(at time.Time, written float64) results.Sample {
	s := results.Sample{UnixNano: at.UnixNano(), PID: 7, Values: metric.System().Values()}
	s.Set(metric.CPUPercent, 42)
	s.Set(metric.RSSBytes, 5e6)
	s.Set(metric.WriteBytes, written)
	return s
}

// around is a run in which the load on the second database has lasted for three seconds.
func around(now time.Time) *Run {
	r := New("a title")
	r.clock = func() time.Time { return now }
	first, second := Of{1, 1, "etcd"}, Of{1, 1, "consul"}
	r.Say(first, "start members", true)
	r.Load(first, progress(1, 90, 0), Ahead{Requests: 300})
	r.Count(first, counted(90, 0))
	r.Say(second, "member 2 is lost\nby <b>name</b>", false)
	for i := 1; i <= 3; i++ {
		r.clock = func() time.Time { return now.Add(time.Duration(i) * time.Second) }
		r.Sample(second, "member 1", sampleOf(r.clock(), float64(i)*1e6))
		r.Sample(second, "client", sampleOf(r.clock(), 0))
		r.Load(second, progress(i, 100, int64(i)), Ahead{Requests: 1000, Length: 10 * time.Second})
	}
	r.Count(second, counted(100, 1, 2, 3))
	answer := results.NewDatabaseSample()
	answer.Values.Set(metric.Fsyncs, 7)
	answer.Values.Set(metric.Connections, 2)
	r.Report(second, "member 1", answer)
	return r
}

// counted returns the counts after seconds with ended requests each. Each argument after it is a
// second, with the errors up to its end, one of them new.
func counted(ended int64, errors ...int64) *exposition.Part {
	p := exposition.NewPart(load.Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}}})
	for i, n := range errors {
		row := results.Interval{Operation: string(workload.OpWrite), Due: 100, Sent: ended, Failed: min(n, 1), OK: ended - min(n, 1)}
		h := histogram.New()
		for range row.OK {
			histogram.Record(h, 2*time.Millisecond)
			row.Latency(results.TimingResponse, workload.OK).Add(2 * time.Millisecond)
		}
		series := results.Series{Timing: results.TimingResponse, Operation: row.Operation, Outcome: workload.OK}
		p.Second(load.Second{Intervals: []results.Interval{row}, Latencies: []load.Latency{{Series: series, Histogram: h}}})
		p.Progress(progress(i+1, ended, n))
	}
	return p
}

// frameOf returns a frame as a page reads it.
func frameOf(t *testing.T, r *Run) (f struct {
	Step, Line string
	Figures    []struct {
		Name   string
		Xs     [][]float64
		Ys     [][]*float64
		Series []struct{ Name string }
	}
	Tables []table
	Said   []note
},
) {
	t.Helper()
	s := r.state()
	b, err := s.frame(nil, 1)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFrame(t *testing.T) {
	f := frameOf(t, around(time.Unix(1_700_000_000, 0)))
	if want := "consul: load"; f.Step != want {
		t.Errorf("the step is %q, want %q", f.Step, want)
	}
	if want := "300 of 1,000 requests, 10 clients, 100/s, 7s left"; f.Line != want {
		t.Errorf("the line is %q, want %q", f.Line, want)
	}
	var lines []string
	for _, one := range f.Figures {
		for i, s := range one.Series {
			var y []string
			for _, v := range one.Ys[i] {
				if v == nil {
					y = append(y, "-")
					continue
				}
				y = append(y, fmt.Sprintf("%g", *v))
			}
			lines = append(lines, fmt.Sprintf("%s %s %v: %s", one.Name, s.Name, one.Xs[i], strings.Join(y, " ")))
		}
	}
	want := `LIVE-THROUGHPUT etcd [1]: 90
LIVE-THROUGHPUT etcd offered [1]: 100
LIVE-THROUGHPUT consul [1 2 3]: 100 100 100
LIVE-THROUGHPUT consul offered [1 2 3]: 100 100 100
LIVE-LATENCY etcd p99 [1]: 30
LIVE-LATENCY etcd p50 [1]: 2
LIVE-LATENCY consul p99 [1 2 3]: 30 30 30
LIVE-LATENCY consul p50 [1 2 3]: 2 2 2
LIVE-FAILURES etcd [1]: 0
LIVE-FAILURES consul [1 2 3]: 1 2 3
LIVE-PROCESSORS client [1 2 3]: 42 42 42
LIVE-PROCESSORS member 1 [1 2 3]: 42 42 42
LIVE-MEMORY client [1 2 3]: 5e+06 5e+06 5e+06
LIVE-MEMORY member 1 [1 2 3]: 5e+06 5e+06 5e+06
LIVE-WRITTEN client [1 2 3]: - 0 0
LIVE-WRITTEN member 1 [1 2 3]: - 1e+06 1e+06`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("the figures draw\n%s\nwant\n%s", got, want)
	}
	if got, want := fmt.Sprint(f.Tables[0].Rows), "[[etcd 100 90 2 ms 30 ms 3 90 0 0] [consul 100 100 2 ms 30 ms 3 300 3 0]]"; got != want {
		t.Errorf("the loads are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(f.Tables[1].Rows), "[[client 42 % 5.0 MB 0 B/s –] [member 1 42 % 5.0 MB 1.0 MB/s –]]"; got != want {
		t.Errorf("the machines are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(f.Said), "[{22:13:20 UTC consul: member 2 is lost by <b>name</b>} {22:13:20 UTC etcd: start members}]"; got != want {
		t.Errorf("what happened is %s, want %s", got, want)
	}
}

// Faults are bands that grow while they last, and leaders are marks, in all figures about the load.
func TestHappened(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := around(now)
	of := Of{1, 1, "consul"}
	at := func(seconds float64) time.Time { return now.Add(time.Duration(seconds * float64(time.Second))) }
	for _, e := range []results.Event{
		{Kind: "fault", Member: 0, Time: at(.5)},
		{Kind: "fault", Member: 1, Time: at(1)},
		{Kind: results.EventLeader, Member: 2, Time: at(1.5)},
		{Kind: "fault over", Member: 0, Time: at(2)},
		{Kind: "fault over", Member: 2, Time: at(2)},
		{Kind: "ready", Member: 2, Time: at(2)},
		{Kind: results.EventLeader, Member: 2, Time: at(-5)},
	} {
		r.Happen(of, e)
	}
	before := r.state()
	r.Happen(of, results.Event{Kind: "fault over", Member: 1, Time: at(2.5)})
	for i, s := range []state{before, r.state()} {
		to := []float64{3, 2.5}[i]
		for _, f := range s.plots() {
			if len(f.Grey) != 2 || f.Grey[0] != (figure.Stretch{From: .5, To: 2, Tinted: true}) || f.Grey[1] != (figure.Stretch{From: 1, To: to, Tinted: true}) {
				t.Errorf("%s has the bands %+v, want .5 to 2 and 1 to %g", f.Name, f.Grey, to)
			}
			if len(f.Events) != 1 || f.Events[0].X != 1.5 {
				t.Errorf("%s has the marks %+v, want one leader at 1.5", f.Name, f.Events)
			}
			if _, err := page.LiveData(nil, f.Figure, f.lines); err != nil {
				t.Error(err)
			}
		}
	}
}

// A repeated sample counts once, and a sample from other processes starts over.
func TestSamples(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	var l oneLoad
	l.sample("client", sampleOf(at, 5e6))
	l.sample("client", sampleOf(at, 5e6))
	restarted := sampleOf(at.Add(time.Second), 9e6)
	restarted.PID = 8
	l.sample("client", restarted)
	if got := l.machines["client"]; len(got.before) != 2 || got.point.written != metric.Unknown {
		t.Errorf("got the points %+v, want two, the second without a rate", got.before)
	}
	// Those since the load started are drawn, however long it was prepared.
	for i := range 5 * mostBefore {
		l.sample("client", sampleOf(at.Add(time.Duration(i)*time.Second), 0))
	}
	l.progress(at.Add((5*mostBefore-1)*time.Second), progress(2, 100, 0), Ahead{})
	if xs := numbersOf(t, l.machines["client"].lines.percent); fmt.Sprint(xs) != "[0 1 2]" {
		t.Errorf("samples are drawn at %v, want those since the start", xs)
	}
}

// numbersOf are the x values on a line.
func numbersOf(t *testing.T, l page.Line) []float64 {
	t.Helper()
	b, err := page.LiveData(nil, figure.Figure{Series: []figure.Series{{}}}, []page.Line{l})
	var f struct{ Xs [][]float64 }
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil || len(f.Xs) != 1 {
		t.Fatalf("encode a line: %v, %s", err, b)
	}
	return f.Xs[0]
}

// A line has the last samples from member machines, and not from the client machine.
func TestServers(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := New("a title").Servers(); got != "" {
		t.Errorf("the members before a run are %q", got)
	}
	r, of := around(now), Of{1, 1, "consul"}
	if got, want := r.Servers(), "members 42 % of a core, 5.0 MB in memory, 1.0 MB/s written"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// After one sample a member's writes per second are unknown.
	r.Sample(of, "member 2", sampleOf(now.Add(3*time.Second), 1e6))
	r.Happen(of, results.Event{Kind: results.EventLeader, Member: 1, Time: now})
	if got, want := r.Servers(), "members 42/42 % of a core, 10 MB in memory, member 2 leads"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Say(Of{1, 1, "etcd"}, "start members", true)
	if got := r.Servers(); got != "" {
		t.Errorf("the members of a database without samples are %q", got)
	}
}

// The page names the current step, the next steps, and the leader.
func TestAhead(t *testing.T) {
	r := around(time.Unix(1_700_000_000, 0))
	of := Of{1, 1, "consul"}
	r.Happen(of, results.Event{Kind: results.EventLeader, Member: 0, Time: r.clock()})
	steps := []workload.Step{{Clients: 1}, {Clients: 10, Rate: 100}, {Clients: 20, Rate: 200}, {Clients: 30}, {Clients: 40}, {Clients: 50}, {Clients: 60}}
	p := progress(4, 100, 0)
	p.Step.Index = 1
	r.Load(of, p, Ahead{Steps: steps})
	f := frameOf(t, r)
	if want := "400 requests, step 2 of 7: 10 clients, 100/s; then 20 clients, 200/s; 30 clients; 40 clients; 2 more"; f.Line != want {
		t.Errorf("the line is %q, want %q", f.Line, want)
	}
	if got := f.Tables[1].Rows[1][0]; got != "member 1, leader" {
		t.Errorf("the leader is shown as %q", got)
	}
	p.Step.Index = len(steps) - 1
	r.Load(of, p, Ahead{Steps: steps})
	if f := frameOf(t, r); strings.Contains(f.Line, "then") {
		t.Errorf("after the last step comes %q", f.Line)
	}
}

// Members of a cluster that runs already are shown by their own account; counter growth needs two
// answers.
func TestReported(t *testing.T) {
	r := New("")
	of := Of{1, 1, "etcd"}
	r.Load(of, progress(1, 100, 0), Ahead{})
	answer := func(at, syncs, took float64, err string) {
		s := results.NewDatabaseSample()
		s.UnixNano, s.Error = int64(at*1e9), err
		if err == "" {
			s.Values.Set(metric.Fsyncs, syncs)
			s.Values.Set(metric.FsyncSeconds, took)
			s.Values.Set(metric.DBBytes, 5e6)
			s.Values.Set(metric.IsLeader, 1)
		}
		r.Report(of, "member 10", s)
	}
	r.Report(of, "member 9", results.NewDatabaseSample())
	for _, c := range []struct {
		at, syncs, took float64
		err, want       string
	}{
		{100, 50, 1, "", "[[member 9 – – – – –] [member 10, leader 5.0 MB – – – –]]"},
		{110, 1050, 3, "", "[[member 9 – – – – –] [member 10, leader 5.0 MB – – 100/s 2 ms]]"},
		{115, 0, 0, "refused", "[[member 9 – – – – –] [member 10 – – – – –]]"},
		{120, 1050, 3, "", "[[member 9 – – – – –] [member 10, leader 5.0 MB – – 0/s –]]"},
		{130, 5, 1, "", "[[member 9 – – – – –] [member 10, leader 5.0 MB – – – –]]"}, // it was started again
	} {
		answer(c.at, c.syncs, c.took, c.err)
		if got := fmt.Sprint(frameOf(t, r).Tables[2].Rows); got != c.want {
			t.Errorf("at %v the answers are %s, want %s", c.at, got, c.want)
		}
	}
}

// A long run's frames grow to a bound, and so does the memory for them.
func TestLongRun(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := New("long")
	sizes := map[int]int{}
	for second := 1; second <= 100_000; second++ {
		r.clock = func() time.Time { return now.Add(time.Duration(second) * time.Second) }
		for _, name := range []string{"client", "member 1"} {
			r.Sample(Of{1, 1, "etcd"}, name, sampleOf(r.clock(), float64(second)*1e6))
		}
		r.Load(Of{1, 1, "etcd"}, progress(second, int64(second%100), 0), Ahead{})
		if second%10_000 == 0 {
			s := r.state()
			b, err := s.frame(nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			sizes[second] = len(b)
		}
	}
	if sizes[10_000] < 10_000 || sizes[100_000] > 3*sizes[10_000] {
		t.Errorf("frames have %v bytes by second: they must not grow with the run", sizes)
	}
}

// The second trial of a database replaces the first.
func TestTrials(t *testing.T) {
	r := New("")
	for trial := 1; trial <= 2; trial++ {
		for _, tag := range []string{"a", "b"} {
			r.Load(Of{trial, 2, tag}, progress(1, 50, 0), Ahead{})
		}
	}
	s := r.state()
	if len(s.loads) != 2 || s.loads[0].of != (Of{2, 2, "a"}) || fmt.Sprint(numbersOf(t, s.loads[0].lines.ended)) != "[1]" {
		t.Errorf("got %d loads, the first %+v; want two, of the second trial", len(s.loads), s.loads[0].of)
	}
}

// families are the metrics that a run exposes, as a scraper reads them.
func families(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("parse what is scraped: %v", err)
	}
	return all
}

func TestMetrics(t *testing.T) {
	r := around(time.Unix(1_700_000_000, 0))
	for _, member := range []int{0, 2} {
		r.Happen(Of{1, 1, "consul"}, results.Event{Kind: results.EventLeader, Member: member, Time: r.clock()})
	}
	h, err := exposition.Handler(newCollector(r))
	if err != nil {
		t.Fatal(err)
	}
	all := families(t, h)
	value := func(name string, labels ...string) float64 {
		for _, m := range all[name].GetMetric() {
			has := 0
			for _, l := range m.GetLabel() {
				for i := 0; i < len(labels); i += 2 {
					if l.GetName() == labels[i] && l.GetValue() == labels[i+1] {
						has += 2
					}
				}
			}
			if has == len(labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		t.Errorf("%s %q is missing", name, labels)
		return -1
	}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"dbtester_load_offered_total", []string{"database", "consul", "trial", "1"}, 300},
		{"dbtester_load_requests_total", []string{"database", "consul"}, 300},
		{"dbtester_load_errors_total", []string{"database", "consul"}, 3},
		{"dbtester_load_requests_total", []string{"database", "etcd"}, 90},
		{"dbtester_load_outcomes_total", []string{"database", "consul", "trial", "1", "operation", "write", "outcome", "ok"}, 297},
		{"dbtester_load_outcomes_total", []string{"database", "consul", "outcome", "failed"}, 3},
		{"dbtester_load_sent_total", []string{"database", "consul"}, 300},
		{"dbtester_load_last_second_latency_seconds", []string{"database", "consul", "quantile", "0.99"}, .03},
		{"dbtester_machine_cpu_percent", []string{"database", "consul", "machine", "member 1"}, 42},
		{"dbtester_machine_write_bytes_total", []string{"machine", "member 1"}, 3e6},
		{"dbtester_machine_rss_bytes", []string{"machine", "client"}, 5e6},
		{"dbtester_member_fsyncs_total", []string{"database", "consul", "trial", "1", "machine", "member 1"}, 7},
		{"dbtester_leader", []string{"database", "consul", "trial", "1", "machine", "member 3"}, 1},
		{"dbtester_member_connections", []string{"machine", "member 1"}, 2},
	} {
		if got := value(c.name, c.labels...); got != c.want {
			t.Errorf("%s %q is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	latency := all["dbtester_load_latency_seconds"].GetMetric()
	if len(latency) != 2 || latency[0].GetHistogram().GetSampleCount() != 297 {
		t.Errorf("the histograms of latencies are %v, want one of the 297 ok requests for each database", latency)
	}
	if all["dbtester_machine_disk_free_bytes"] != nil {
		t.Error("a metric that no machine has is exposed")
	}
	for name, f := range all {
		if counter := strings.HasSuffix(name, "_total"); counter != (f.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %v", name, f.GetType())
		}
	}
}

// served is a server for a run on a loopback address, and its URL.
func served(t testing.TB, r *Run) (*Server, string) {
	t.Helper()
	l, err := spectators.Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(l, r)
	if err != nil {
		t.Fatal(err)
	}
	return s, "http://" + l.Addr().String()
}

// get requests a page and returns its status and text.
func get(t *testing.T, address string, header map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Set(k, v)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// client keeps no connections, which would outlive a test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Requests from other sites, and to other names for this machine, are refused.
func TestWhoMayRead(t *testing.T) {
	s, at := served(t, around(time.Now()))
	defer func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		path   string
		header map[string]string
		want   int
	}{
		{"/", nil, http.StatusOK},
		{"/metrics", nil, http.StatusOK},
		{"/", map[string]string{"Host": "localhost:8080"}, http.StatusOK},
		{"/", map[string]string{"Host": "[::1]:8080"}, http.StatusOK},
		{"/metrics", map[string]string{"Host": "evil.example"}, http.StatusMisdirectedRequest},
		{"/events", map[string]string{"Host": "evil.example:8080"}, http.StatusMisdirectedRequest},
		{"/metrics", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, http.StatusForbidden},
		{"/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, http.StatusOK},
		{"/report/report.html", nil, http.StatusNotFound},
		{"/report/..%2f..%2fetc%2fpasswd", nil, http.StatusNotFound},
		{"/other", nil, http.StatusNotFound},
	} {
		if got, text := get(t, at+c.path, c.header); got != c.want {
			t.Errorf("%s with %v: got %d %.80s, want %d", c.path, c.header, got, text, c.want)
		}
	}
	resp, err := client.Post(at+"/", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST got %d, want %d", resp.StatusCode, http.StatusMethodNotAllowed)
	}
}

// stream opens the event stream, and returns its lines.
func stream(t testing.TB, at string) (*bufio.Scanner, func()) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("events: %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	return lines, func() { resp.Body.Close() }
}

// next returns the following event with this name.
func next(t *testing.T, lines *bufio.Scanner, name string) string {
	t.Helper()
	for lines.Scan() {
		if lines.Text() != "event: "+name {
			continue
		}
		if !lines.Scan() {
			break
		}
		return strings.TrimPrefix(lines.Text(), "data: ")
	}
	t.Fatalf("no event %s: %v", name, lines.Err())
	return ""
}

// The page of a run becomes the report, which is served only from its folder, until it was fetched.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"report.html": "the report", "numbers.csv": "1,2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s, at := served(t, around(time.Now()))
	lines, done := stream(t, at)
	defer done()
	if text := next(t, lines, "second"); !strings.Contains(text, "LIVE-THROUGHPUT") {
		t.Errorf("a second is %.100s", text)
	}
	if err := s.Finish(filepath.Join(dir, "report.html")); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, lines, "report"), `"report/report.html"`; got != want {
		t.Errorf("the report is at %s, want %s", got, want)
	}
	done()
	if code, _ := get(t, at+"/events", nil); code != http.StatusServiceUnavailable {
		t.Errorf("after the end, events got %d", code)
	}
	for file, want := range map[string]int{"numbers.csv": http.StatusOK, "link": http.StatusNotFound, "none": http.StatusNotFound} {
		if code, text := get(t, at+"/report/"+file, nil); code != want {
			t.Errorf("%s: got %d %.50s, want %d", file, code, text, want)
		}
	}
	s.linger = 5 * time.Minute // a busy machine may be late
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	if code, text := get(t, at+"/report/report.html", nil); code != http.StatusOK || text != "the report" {
		t.Errorf("the report: got %d %q", code, text)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A page that reads nothing delays neither the run nor other pages. The page count is bounded.
func TestManyViewers(t *testing.T) {
	var v viewers
	v.idle = make(chan struct{})
	var all []*viewer
	for {
		one := v.add()
		if one == nil {
			break
		}
		all = append(all, one)
	}
	if len(all) != mostViewers {
		t.Errorf("%d viewers were let in, want %d", len(all), mostViewers)
	}
	for i := range 100 {
		v.send(event(fmt.Sprint(i)))
	}
	if e := <-all[0].events; string(e) != "99" {
		t.Errorf("a slow viewer gets event %s, want the last", e)
	}
	v.remove(all[0])
	if v.add() == nil {
		t.Error("no viewer takes the place of one that left")
	}
	v.end(event("report"), true)
	for range mostViewers {
		select {
		case <-v.idle:
			t.Fatal("the server ends before all viewers came")
		default:
		}
		v.came()
	}
	<-v.idle
}

// Pages that read nothing from their connections delay neither the page that reads, nor scrapes,
// nor server shutdown. No more pages than the bound are served.
func TestSlowViewers(t *testing.T) {
	s, at := served(t, around(time.Now()))
	lines, done := stream(t, at)
	defer done()
	var dialer net.Dialer
	for range mostViewers - 1 {
		c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if status, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
			t.Fatalf("a page within the bound got %q, %v", status, err)
		}
	}
	if code, _ := get(t, at+"/events", nil); code != http.StatusServiceUnavailable {
		t.Errorf("a page beyond the bound got %d, want %d", code, http.StatusServiceUnavailable)
	}
	// Far more than the buffers of a connection hold.
	large := newEvent("large", strings.Repeat("x", 1<<20))
	for range 32 {
		s.viewers.send(large)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: ") { // a second of the run may replace it
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("the page that reads: %v", err)
		}
	}
	if code, text := get(t, at+"/metrics", nil); code != http.StatusOK || !strings.Contains(text, "dbtester_load_requests_total") {
		t.Errorf("a scrape beside slow pages: got %d %.80s", code, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond) // instead of linger
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close with slow pages: %v", err)
	}
}

// Without viewers no events are made; then there is one each second.
func TestTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{run: around(time.Now()), viewers: viewers{idle: make(chan struct{})}}
		ctx, cancel := context.WithCancel(t.Context())
		s.tasks.Go(func() { s.tick(ctx) })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.frames != 0 {
			t.Errorf("%d seconds were made for nobody", s.frames)
		}
		one, other := s.viewers.add(), s.viewers.add()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.frames != 10 || len(one.events) != 1 || len(other.events) != 1 {
			t.Errorf("%d seconds were made in 10 s, and %d wait", s.frames, len(one.events))
		}
		if a, b := <-one.events, <-other.events; &a[0] != &b[0] {
			t.Error("a second was encoded for each viewer")
		}
		cancel()
		s.tasks.Wait()
	})
}

// The dashboard for Grafana uses only existing metrics, and docs/live.md names them all.
func TestDocuments(t *testing.T) {
	h, err := exposition.Handler(newCollector(around(time.Unix(1_700_000_000, 0))))
	if err != nil {
		t.Fatal(err)
	}
	exposed := families(t, h)
	for _, m := range metric.System().Metrics() { // also those that no machine in the test has
		exposed[exposition.Prefix+exposition.MachineMetric(m)] = nil
	}
	dashboard, err := os.ReadFile("../../../docs/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`dbtester_[a-z_]+`).FindAllString(string(dashboard), -1)
	for _, name := range asked {
		if _, ok := exposed[strings.TrimSuffix(name, "_bucket")]; !ok {
			t.Errorf("the dashboard asks for %s, which nothing exposes", name)
		}
	}
	if len(asked) < 10 {
		t.Errorf("the dashboard asks for %d metrics only", len(asked))
	}
	page, err := os.ReadFile("../../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exposed {
		if strings.HasPrefix(name, "dbtester_load_") && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/live.md does not name %s", name)
		}
	}
}

func TestNames(t *testing.T) {
	l := oneLoad{machines: map[string]machine{"member 10": {}, "client": {}, "member 9": {}, "generator 2": {}, "generator 1": {}}}
	if got, want := strings.Join(l.names(), ", "), "client, generator 1, generator 2, member 9, member 10"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A new progress text for a step replaces the previous one.
func TestSay(t *testing.T) {
	r := New("")
	for _, text := range []string{"start members", "wrote 10 of 20 keys", "wrote 20 of 20 keys", "load"} {
		r.Say(Of{}, text, true)
	}
	r.Say(Of{}, "member 1 leads", false)
	r.Say(Of{}, "member 2 leads", false)
	var got []string
	for _, s := range r.state().said {
		got = append(got, s.text)
	}
	if got, want := strings.Join(got, "; "), "start members; wrote 20 of 20 keys; load; member 1 leads; member 2 leads"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// If a run has no report, its pages are notified that it ended before the server stops, and a
// missing report is an error.
func TestOver(t *testing.T) {
	s, at := served(t, around(time.Now()))
	lines, done := stream(t, at)
	defer done()
	next(t, lines, "second")
	if err := s.Finish(filepath.Join(t.TempDir(), "none", "report.html")); err == nil {
		t.Error("a folder that is not there was served")
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	next(t, lines, "over")
	done()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
