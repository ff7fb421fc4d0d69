// Program prometheus has a real Prometheus scrape a run: control, three agents with a member each,
// two of which also have a part of the load. It prints a table with the final values from the
// Prometheus query API next to the recorded values, and fails if a sum differs.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

// Addresses on loopback. The members listen on the hosts.
const (
	controlAt    = "127.0.82.10:8080"
	prometheusAt = "127.0.82.10:9090"
)

var hosts = []string{"127.0.82.1", "127.0.82.2", "127.0.82.3"}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("prometheus", flag.ContinueOnError)
	dbtester := flags.String("dbtester", "", "path of dbtester")
	prometheus := flags.String("prometheus", "", "path of Prometheus")
	version := flags.String("version", "", "its version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "dbtester-prometheus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := scene{dir: dir, dbtester: *dbtester, prometheus: *prometheus}
	rows, err := s.play(ctx)
	if err != nil {
		return errors.Join(err, s.end())
	}
	if err := s.end(); err != nil {
		return err
	}
	return show(out, *version, rows)
}

// scene has the programs around a run. end stops them.
type scene struct {
	dir, dbtester, prometheus string
	programs                  []*program
}

// program is a child process with its output.
type program struct {
	name string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// start starts a program, which ends with end.
func (s *scene) start(path string, args ...string) (*program, error) {
	p := &program{name: filepath.Base(path) + " " + strings.Join(args, " "), cmd: exec.Command(path, args...)}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = &p.log, &p.log, s.dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.programs = append(s.programs, p)
	return p, nil
}

// end ends the programs, the newest first.
func (s *scene) end() error {
	var errs []error
	for _, p := range slices.Backward(s.programs) {
		errs = append(errs, p.cmd.Process.Signal(syscall.SIGTERM))
		if err := p.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n%s", p.name, err, p.log.String()))
		}
	}
	s.programs = nil
	return errors.Join(errs...)
}

// config has two jobs: control counts the whole load, and generators count its parts.
func config() string {
	var agents []string
	for _, h := range hosts {
		agents = append(agents, h+":3600")
	}
	return fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: control
  static_configs: [{targets: ['%s']}]
- job_name: agents
  static_configs: [{targets: ['%s']}]
`, controlAt, strings.Join(agents, "', '"))
}

// experiment has a rate, a member that is killed, and two generators.
func (s *scene) experiment() string {
	return fmt.Sprintf(`title: a run that Prometheus scrapes
results: %s
hosts: [%s]
generators: [%s]
load: {operation: write, rate: 500, duration: 20s, clients: 20, connections: 20, key_size: 16, value_size: 64, timeout: 2s, failover: next}
faults:
- {kind: kill, member: 3, at: 8s, for: 4s}
databases:
  etcd: {options: {log_level: error}}
`, filepath.Join(s.dir, "results"), strings.Join(hosts, ", "), strings.Join(hosts[:2], ", "))
}

// play starts the programs, runs the experiment, and compares.
func (s *scene) play(ctx context.Context) ([]row, error) {
	token := filepath.Join(s.dir, "token")
	for _, h := range hosts {
		if _, err := s.start(s.dbtester, "agent", "--agent-port", h+":3500", "--work-dir", filepath.Join(s.dir, "agent-"+h), "--token", token,
			"--allow-load", "--allow-faults", "kill", "--metrics", h+":3600"); err != nil {
			return nil, err
		}
		if err := awaits(ctx, "http://"+h+":3600/metrics"); err != nil { // the first agent makes the token
			return nil, err
		}
	}
	for name, text := range map[string]string{"prometheus.yaml": config(), "experiment.yaml": s.experiment()} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if _, err := s.start(s.prometheus, "--config.file="+filepath.Join(s.dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(s.dir, "tsdb"), "--web.listen-address="+prometheusAt, "--log.level=warn"); err != nil {
		return nil, err
	}
	if err := awaits(ctx, "http://"+prometheusAt+"/-/ready"); err != nil {
		return nil, err
	}
	control := exec.CommandContext(ctx, s.dbtester, "control", "--config", filepath.Join(s.dir, "experiment.yaml"), "--token", token, "--live", controlAt)
	control.Cancel = func() error { return control.Process.Signal(syscall.SIGTERM) }
	control.Dir = s.dir
	output, err := control.CombinedOutput()
	const invalid = 3 // a mark on a busy machine
	if err != nil && control.ProcessState.ExitCode() != invalid {
		return nil, fmt.Errorf("control: %w\n%s", err, output)
	}
	if err := scraped(ctx, time.Now()); err != nil {
		return nil, err
	}
	return s.compare(ctx)
}

// scraped waits until each agent was scraped after a time. Control is gone by then.
func scraped(ctx context.Context, after time.Time) error {
	return await(ctx, func() error {
		last, err := query(ctx, `min(timestamp(up{job="agents"}))`)
		if err == nil && last <= float64(after.UnixMilli())/1e3 {
			err = errors.New("agents were not scraped after the run")
		}
		return err
	})
}

// awaits waits until an address answers.
func awaits(ctx context.Context, address string) error {
	return await(ctx, func() error {
		_, err := get(ctx, address)
		return err
	})
}

// await repeats f until it returns no error, for a minute at most.
func await(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not within a minute: %w", err)
		}
	}
}

// get returns the answer from an address.
func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, resp.Status, body)
	}
	return body, err
}

// query returns the only value of a query.
func query(ctx context.Context, text string) (float64, error) {
	body, err := get(ctx, "http://"+prometheusAt+"/api/v1/query?query="+url.QueryEscape(text))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value []any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) != 1 || len(answer.Data.Result[0].Value) != 2 {
		return 0, fmt.Errorf("%s: one value is wanted, got %s", text, body)
	}
	value, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(value, 64)
}

// row compares a query result with the recorded value.
type row struct {
	query       string
	got, record float64
}

// totals are the recorded load counts.
type totals struct {
	Offered, Sent, OK, Failed, Unknown, Shed, Unsent, Queued, Late float64
}

// compare returns the table rows.
func (s *scene) compare(ctx context.Context) (rows []row, err error) {
	runs, err := filepath.Glob(filepath.Join(s.dir, "results", "*", "*", "manifest.json"))
	if err != nil || len(runs) != 1 {
		return nil, fmt.Errorf("one run must be on record, got %q, %v", runs, err)
	}
	data, err := os.ReadFile(runs[0])
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Databases []struct {
			Tag    string
			Totals totals
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, err
	}
	db := manifest.Databases[0]
	want := wanted(db.Totals)
	for i := range hosts {
		written, err := lastSample(filepath.Join(filepath.Dir(runs[0]), db.Tag, fmt.Sprintf("%d-server-system-metrics.csv", i+1)), "PROCESS-WRITE-BYTES")
		if err != nil {
			return nil, err
		}
		want = append(want, row{query: fmt.Sprintf(`sum(last_over_time(dbtester_machine_write_bytes_total{job="agents", machine="member %d"}[10m]))`, i+1), record: written})
	}
	for _, r := range want {
		if r.got, err = query(ctx, r.query); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// wanted returns the queries about the load, the fault and the scrapes.
func wanted(t totals) (rows []row) {
	sum := func(name, labels string, record float64) {
		rows = append(rows, row{query: fmt.Sprintf(`sum(last_over_time(dbtester_%s{%s}[10m]))`, name, labels), record: record})
	}
	for _, job := range []string{"control", "agents"} {
		job = fmt.Sprintf(`job="%s"`, job)
		sum("load_offered_total", job, t.Offered)
		sum("load_requests_total", job, t.OK+t.Failed+t.Unknown+t.Shed)
		sum("load_errors_total", job, t.Failed+t.Unknown)
		sum("load_declined_total", job, 0)
		sum("load_outcomes_total", job+`, outcome="failed"`, t.Failed)
		sum("load_outcomes_total", job+`, outcome="ok"`, t.OK)
		sum("load_outcomes_total", job+`, outcome="shed"`, t.Shed)
		sum("load_outcomes_total", job+`, outcome="unknown"`, t.Unknown)
		sum("load_sent_total", job, t.Sent)
		sum("load_unsent_total", job, t.Unsent)
		sum("load_queued_total", job, t.Queued)
		sum("load_late_total", job, t.Late)
		sum("load_latency_seconds_count", job+`, timing="response"`, t.OK)
		sum("load_latency_seconds_bucket", job+`, timing="service", le="+Inf"`, t.OK)
	}
	sum("agent_faults_total", `kind="kill"`, 1)
	return append(rows,
		row{query: `sum(max_over_time(dbtester_agent_faults_lasting{kind="kill"}[10m]))`, record: 1},
		row{query: `sum(last_over_time(dbtester_agent_faults_lasting[10m]))`, record: 0},
		row{query: `max(max_over_time(dbtester_generator_session_state{state="running"}[10m]))`, record: 1},
		row{query: `min(min_over_time(up{job="agents"}[10m]))`, record: 1},
	)
}

// lastSample returns the column in the last line of a sample file.
func lastSample(path, column string) (float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	if len(lines) < 2 {
		return 0, fmt.Errorf("%s has no samples: %d lines", path, len(lines))
	}
	i := slices.Index(lines[0], column)
	if i < 0 {
		return 0, fmt.Errorf("%s has no column %s", path, column)
	}
	return strconv.ParseFloat(lines[len(lines)-1][i], 64)
}

// show writes the table, and returns an error if a row differs.
func show(out io.Writer, version string, rows []row) error {
	fmt.Fprintf(out, "# A run that Prometheus scrapes\n\nA real Prometheus (module version %s) scrapes control and three agents each second during a run of etcd with two generators and a member that is killed for four seconds. "+
		"After the run its query API is asked for the last values, which must equal the records of the run. Made by `make prometheus`.\n\n| query | Prometheus | records |\n|---|---|---|\n", version)
	differ := 0
	for _, r := range rows {
		mark := ""
		if r.got != r.record {
			differ++
			mark = " **differs**"
		}
		number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
		fmt.Fprintf(out, "| `%s` | %s | %s%s |\n", r.query, number(r.got), number(r.record), mark)
	}
	fmt.Fprintf(out, "\n%d of %d are equal.\n", len(rows)-differ, len(rows))
	if differ > 0 {
		return fmt.Errorf("%d values differ from the records", differ)
	}
	return nil
}
