package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/coreos/dbtester/analyze/publish/chromium"
	"github.com/coreos/dbtester/analyze/publish/chromium/chromiumtest"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/trust/certs"
)

// TestLive watches a whole run in which a member is killed. A browser sees its figures grow and the
// page become the report, and the last scraped values equal the records. A run that ends before a
// busy machine shows its figures, or scrapes its end, is repeated with twice the duration.
func TestLive(t *testing.T) {
	notShort(t)
	t.Parallel()
	b := chromiumtest.Start(t, patience)
	for seconds := 18; !watchRun(t, b, seconds); seconds *= 2 {
		if t.Logf("not all of %d s was looked at", seconds); seconds > int(patience.Seconds()) {
			t.Fatal("no run was long enough")
		}
	}
}

// watchRun returns false if the run ended before the browser saw all of its figures, or was not
// scraped after its load.
func watchRun(t *testing.T, b *chromium.Browser, seconds int) bool {
	t.Helper()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.file("live.yaml", fmt.Sprintf(`
title: a run that is looked at
results: %s
hosts: [%s]
load: {operation: write, rate: 200, duration: %ds, clients: 9, connections: 9, key_size: 16, value_size: 32, timeout: 2s, failover: next}
faults:
- {kind: kill, member: leader, at: 3s, for: 300ms}
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "), seconds))
	c := p.start("control", "--local", "--live", "127.0.0.1:0", "--config", file)
	at := strings.TrimPrefix(c.says(`live at http://127\.0\.0\.1:[0-9]+/`), "live at ")
	if err := b.Visit(at); err != nil {
		t.Fatal(err)
	}
	var scraped scrapes
	scraped.follow(t, at+"metrics", c.ended)
	for _, figure := range []string{
		`document.querySelector('#figure-live-throughput .live [data-series] path')`,
		`document.querySelector('#figure-live-processors .live [data-series] path')`,
		`document.querySelectorAll('#machines tbody tr').length === 4`,
		`document.getElementById('said').textContent.includes('kill of member')`,
		`document.querySelector('#figure-live-throughput .live rect.tint')`, // where the fault lasts
	} {
		over := false
		eventually(t, "the page has "+figure, func() bool {
			select {
			case <-c.ended:
				over = true
			default:
			}
			return seen(b, figure) || over
		})
		if over {
			return false
		}
	}
	eventually(t, "the page becomes the report", func() bool { return seen(b, `document.getElementById('headline')`) })
	<-c.ended
	if code := c.cmd.ProcessState.ExitCode(); code != exitDone && code != exitInvalid {
		t.Fatalf("exit code %d", code)
	}
	if scraped.when().Before(manifest(t, p.runs()[0]).Databases[0].LoadEnd) {
		return false
	}
	wantScraped(t, p, &scraped)
	return true
}

// wantScraped compares the last scraped values with the records.
func wantScraped(t *testing.T, p place, scraped *scrapes) {
	t.Helper()
	totals := manifest(t, p.runs()[0]).Databases[0].Totals
	last := scraped.last(t)
	for name, want := range map[string]int64{
		"dbtester_load_requests_total": totals.OK + totals.Failed + totals.Unknown + totals.Shed,
		"dbtester_load_offered_total":  totals.Offered,
		"dbtester_load_errors_total":   totals.Failed + totals.Unknown,
	} {
		if got := last[name].GetMetric()[0].GetCounter().GetValue(); int64(got) != want {
			t.Errorf("%s ended at %v, the records have %d", name, got, want)
		}
	}
	latency := map[string]uint64{}
	for _, m := range last["dbtester_load_latency_seconds"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "timing" {
				latency[l.GetValue()] += m.GetHistogram().GetSampleCount()
			}
		}
	}
	if ok := uint64(totals.OK); latency["response"] != ok || latency["service"] != ok {
		t.Errorf("the histograms ended with %v requests, the records have %d ok", latency, ok)
	}
	for outcome, want := range map[string]int64{"ok": totals.OK, "failed": totals.Failed, "unknown": totals.Unknown, "shed": totals.Shed} {
		if got := outcomes(last, outcome); int64(got) != want {
			t.Errorf("%v requests with the outcome %s were exposed, the records have %d", got, outcome, want)
		}
	}
	if machines := len(last["dbtester_machine_cpu_seconds_total"].GetMetric()); machines != 4 {
		t.Errorf("%d machines were exposed, want three members and the client", machines)
	}
}

// outcomes returns the exposed count for an outcome.
func outcomes(all map[string]*dto.MetricFamily, outcome string) (n float64) {
	for _, m := range all["dbtester_load_outcomes_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "outcome" && l.GetValue() == outcome {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// seen reports whether an expression is true in the page, which may change to another meanwhile.
func seen(b *chromium.Browser, expression string) bool {
	is, err := b.Eval("!!(" + expression + ")")
	return err == nil && is == true
}

// scrapes holds the last scraped data, and when they were asked for.
type scrapes struct {
	mu    sync.Mutex
	text  string
	asked time.Time
}

// follow polls the metrics until the end.
func (s *scrapes) follow(t *testing.T, address string, ended <-chan struct{}) {
	var reads sync.WaitGroup
	t.Cleanup(reads.Wait)
	reads.Go(func() {
		for {
			asked := time.Now()
			if text, err := scrape(address); err == nil {
				s.mu.Lock()
				s.text, s.asked = text, asked
				s.mu.Unlock()
			}
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

func scrape(address string) (string, error) {
	resp, err := http.Get(address) //nolint:gosec,noctx // the test's own server
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// when returns when the last scrape began.
func (s *scrapes) when() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// last is the last scrape, as parsed by Prometheus.
func (s *scrapes) last(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(s.text))
	if err != nil {
		t.Fatalf("parse what was scraped: %v", err)
	}
	return all
}

// Beyond loopback only callers with control's certificate can watch a run, and they know the host.
func TestLiveWithCertificates(t *testing.T) {
	dir := t.TempDir()
	if _, err := (certs.Folder{Path: dir, Now: time.Now()}).Init([]string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	a := &app{streams: streams{out: io.Discard, err: io.Discard}}
	e := &config.Experiment{Title: "a run that is looked at"}
	if _, err := a.admit(t.Context(), e, liveFlags{address: "0.0.0.0:0"}, true); err == nil || !strings.Contains(err.Error(), "without certificates only this machine may look") {
		t.Errorf("without certificates: %v", err)
	}
	if _, err := a.admit(t.Context(), e, liveFlags{address: "127.0.0.1:0", certs: filepath.Join(dir, "control")}, true); err == nil {
		t.Error("control's certificate served as an agent's")
	}
	var shown watched
	a.err = &shown
	v, err := a.admit(t.Context(), e, liveFlags{address: "127.0.0.1:0", certs: filepath.Join(dir, "agent-127.0.0.1")}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.leave(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	address := strings.TrimSpace(strings.TrimPrefix(shown.String(), "live at "))
	wantOnlyControl(t, dir, "agent-127.0.0.1", address+"metrics")
}

// wantOnlyControl fails unless control is answered, and an agent and a caller without a certificate
// from dir are not.
func wantOnlyControl(t *testing.T, dir, agent, address string) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(dir, "control", certs.FileCA))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for party, welcome := range map[string]bool{"control": true, agent: false, "": false} {
		trust := &tls.Config{RootCAs: roots}
		if party != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(dir, party, certs.FileCert), filepath.Join(dir, party, certs.FileKey))
			if err != nil {
				t.Fatal(err)
			}
			trust.Certificates = []tls.Certificate{pair}
		}
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}
		resp, err := c.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if got := err == nil && resp.StatusCode == http.StatusOK; got != welcome {
			t.Errorf("a caller with the certificate of %q: %v", party, err)
		}
	}
}
