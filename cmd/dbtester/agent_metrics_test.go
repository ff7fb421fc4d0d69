package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/trust/certs"
)

// exposed are the metrics of several agents at the same time, as parsed by Prometheus.
type exposed []map[string]*dto.MetricFamily

func scrapeAll(t *testing.T, addresses []string) (all exposed) {
	t.Helper()
	for _, at := range addresses {
		text, err := scrape(at)
		if err != nil {
			t.Fatal(err)
		}
		s := scrapes{text: text}
		all = append(all, s.last(t))
	}
	return all
}

// sum adds up the counters, gauges and histogram counts of a metric that have all the labels, given
// as name and value in turn.
func (e exposed) sum(name string, labels ...string) (sum float64) {
	for _, agent := range e {
		for _, m := range agent[name].GetMetric() {
			has := 0
			for _, l := range m.GetLabel() {
				for i := 0; i < len(labels); i += 2 {
					if l.GetName() == labels[i] && l.GetValue() == labels[i+1] {
						has += 2
					}
				}
			}
			if has == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// exposes returns the URL for the metrics of an agent.
func (c *command) exposes() string {
	c.t.Helper()
	_, at, _ := strings.Cut(c.says(`agent exposes its metrics" address=https?://\S+`), "address=")
	return at
}

// scrapedRun runs a load with a fault on three new agents, of which two issue it. It returns where
// they expose their metrics, and whether a busy machine lost a generator before it ran.
func scrapedRun(t *testing.T) (p place, agents []*command, at []string, late bool) {
	t.Helper()
	p, hosts := newPlace(t), freeHosts(t)
	agents = p.startAgents(hosts, "--insecure", "--allow-load", "--allow-faults", "kill,pause", "--metrics", "127.0.0.1:0")
	for _, a := range agents {
		at = append(at, a.exposes())
	}
	if before := scrapeAll(t, at); before.sum("dbtester_agent_session_state", "state", "idle") != 3 || before.sum("dbtester_generator_session_state", "state", "free") != 3 || before.sum("dbtester_agent_info") != 3 {
		t.Errorf("agents without a run expose %v", before)
	}
	file := p.file("metrics.yaml", fmt.Sprintf(`
title: agents that are scraped
results: %s
hosts: [%s]
generators: [%s]
load: {operation: write, rate: 200, duration: 15s, clients: 9, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: kill, member: 1, at: 1s, for: 300ms}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "), strings.Join(hosts[:2], ", ")))
	c := p.start("control", "--config", file, "--insecure")
	ran := false
	eventually(t, "both generators expose that they run", func() bool {
		ran = scrapeAll(t, at).sum("dbtester_generator_session_state", "state", "running") == 2
		select {
		case <-c.ended:
			return true
		default:
			return ran
		}
	})
	<-c.ended
	if code := c.cmd.ProcessState.ExitCode(); code != exitDone && code != exitInvalid {
		t.Fatalf("exit code %d:\n%s", code, c.err.String())
	}
	late = beganLate(manifest(t, p.runs()[0]).Databases[0])
	if !ran && !late {
		t.Fatalf("control ended before: %s", c.err.String())
	}
	return p, agents, at, late
}

// TestAgentMetrics: at the end of a run with a fault, agents and generators expose the recorded
// numbers. Nothing listens at an agent without the flag.
func TestAgentMetrics(t *testing.T) {
	notShort(t)
	t.Parallel()
	p, agents, at, late := scrapedRun(t)
	for chances := 2; late && chances > 0; chances-- {
		t.Log("this machine is busy: a generator did not begin in time, so all is done again")
		p, agents, at, late = scrapedRun(t)
	}
	if late {
		t.Fatal("a generator did not begin in time, in each of three runs")
	}
	record := p.runs()[0]
	db := manifest(t, record).Databases[0]
	after, totals := scrapeAll(t, at), db.Totals
	for _, want := range []struct {
		count  int64
		name   string
		labels []string
	}{
		{totals.Offered, "dbtester_load_offered_total", nil},
		{totals.OK + totals.Failed + totals.Unknown + totals.Shed, "dbtester_load_requests_total", nil},
		{totals.Failed + totals.Unknown, "dbtester_load_errors_total", nil},
		{totals.OK, "dbtester_load_outcomes_total", []string{"outcome", "ok", "operation", "write"}},
		{totals.Failed, "dbtester_load_outcomes_total", []string{"outcome", "failed"}},
		{totals.Unknown, "dbtester_load_outcomes_total", []string{"outcome", "unknown"}},
		{totals.Shed, "dbtester_load_outcomes_total", []string{"outcome", "shed"}},
		{totals.Sent, "dbtester_load_sent_total", nil},
		{totals.Unsent, "dbtester_load_unsent_total", nil},
		{totals.Queued, "dbtester_load_queued_total", nil},
		{totals.Late, "dbtester_load_late_total", nil},
		{totals.OK, "dbtester_load_latency_seconds", []string{"timing", "response", "database", db.Tag}},
		{totals.OK, "dbtester_load_latency_seconds", []string{"timing", "service"}},
		{9, "dbtester_load_clients", nil},
		{200, "dbtester_load_step_rate", nil},
		{1, "dbtester_agent_faults_total", []string{"kind", "kill"}},
		{0, "dbtester_agent_faults_lasting", nil},
		{0, "dbtester_agent_member_down", nil},
		{3, "dbtester_agent_session_state", []string{"state", "idle"}},
	} {
		if got := after.sum(want.name, want.labels...); got != float64(want.count) {
			t.Errorf("%s %q is %v, the records have %d", want.name, want.labels, got, want.count)
		}
	}
	for i := range agents {
		samples, err := results.ReadSamples(filepath.Join(record.Path(db.Tag), fmt.Sprintf("%d-%s", i+1, results.FileServer)))
		if err != nil {
			t.Fatal(err)
		}
		want := samples[len(samples)-1].Get(metric.WriteBytes)
		if got := after.sum("dbtester_machine_write_bytes_total", "machine", fmt.Sprintf("member %d", i+1)); got != want {
			t.Errorf("member %d has written %v bytes, its last sample has %v", i+1, got, want)
		}
	}
	if n := after.sum("dbtester_machine_processes", "machine", "generator 1"); n != 1 {
		t.Errorf("generator 1 has %v processes, want one", n)
	}
	for _, a := range agents {
		a.signal(syscall.SIGTERM)
	}
	for _, a := range agents {
		a.exits(exitDone, patience)
	}
	if _, err := scrape(at[0]); err == nil {
		t.Error("metrics are served after the agent's end")
	}
}

// Agent metrics have the same defences as the live page, and the same certificates.
func TestAgentMetricsCallers(t *testing.T) {
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	dir := t.TempDir()
	if _, err := (certs.Folder{Path: dir, Now: time.Now()}).Init(hosts[:1]); err != nil {
		t.Fatal(err)
	}
	c := p.start("agent", "--agent-port", hosts[0]+":3500", "--work-dir", p.path("refused"), "--insecure", "--metrics", "0.0.0.0:0")
	c.exits(exitUsage, patience)
	wantText(t, "the refusal", c.err.String(), "--metrics: .*without certificates only this machine may look")
	c = p.start("agent", "--metrics-certs", dir)
	c.exits(exitUsage, patience)
	a := p.startAgents(hosts[:1], "--certs", filepath.Join(dir, "agent-"+hosts[0]), "--metrics", hosts[0]+":0", "--metrics-certs", filepath.Join(dir, "agent-"+hosts[0]))[0]
	at := a.exposes()
	wantOnlyControl(t, dir, "agent-"+hosts[0], at)
	a.signal(syscall.SIGTERM)
	a.exits(exitDone, patience)
}
