package metric

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

// The list in the documentation is generated from the declarations.
func TestDocumentation(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Metrics

Every sample that an agent or control takes is one row in a system-metrics CSV, with these metrics. The list is generated from the declarations in package metric: ` + "`go test ./pkg/metric -update`" + ` writes it.

A counter only grows, and reports show its growth. A gauge is a momentary value. A setting is a value that control set. A rate is a counter's growth over the time since the previous sample. An empty field means that the value is unknown.

| metric | column | unit | kind | scope | meaning |
|---|---|---|---|---|---|
`)
	for _, m := range System().Metrics() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.Name, m.Column, m.Unit, m.Kind, m.Scope, m.Help)
	}
	b.WriteString(`
## Metrics of the database

Each second an agent also asks its member for the numbers that it reports about itself: etcd's ` + "`/metrics`" + ` on its client port, ZooKeeper's ` + "`mntr`" + `, Consul's ` + "`/v1/agent/metrics?format=prometheus`" + `; zetcd and cetcd report their etcd's numbers. With TLS the agent shows the member's own certificate. ` + "`metrics: false`" + ` in the experiment file turns this off. A cluster that runs already (` + "`endpoints`" + `) has no agents: control asks its members [every 10 s](shared.md#metrics-of-the-members).

The rows are in ` + "`N-database-metrics.csv`" + `, from the member's first answer to the one just before it is stopped. UNIX-NANOSECOND is when the member was asked, by its machine's clock; ASKED-NANOSECONDS is how long the answer took and ANSWER-BYTES how long it was. That is the cost of asking. It is part of the member's CPU time (about 6 ms a second for etcd, 4 ms for ZooKeeper, 3 ms for Consul) and of the traffic on its interface, which is loopback if the member has its own address. An answer may take at most 500 ms and 1 MiB; a failed one leaves a row with its ERROR and no values. An empty field means that the database does not report the number.

A histogram is written as ` + "`0.001=4 0.002=5 +Inf=7`" + `: of 7 values since the member's start, 4 were at most 1 ms and 5 at most 2 ms. Its percentiles are known up to these bounds.

| metric | column | unit | kind | meaning |
|---|---|---|---|---|
`)
	for _, m := range OfDatabase().Metrics() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Name, m.Column, m.Unit, m.Kind, m.Help)
	}
	path := filepath.Join("..", "..", "docs", "metrics.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatalf("write the documentation: %v", err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/metrics.md must list the declared metrics (error %v); go test ./pkg/metric -update writes it", err)
	}
}

// A sampler relies on every source having these properties.
func TestSources(t *testing.T) {
	for _, s := range Sources() {
		if (s.File == "") != (s.Parse == nil && s.Line == nil) || s.Parse != nil && s.Line != nil {
			t.Errorf("source of %s must have both a file and one parser, or neither", s.Metrics[0].Name)
		}
		if (s.Scope() == Group) != (s.Controller != "" && s.OldFile != "") {
			t.Errorf("source of %s must have a controller and a file of version 1 if it is of a control group, and only then", s.Metrics[0].Name)
		}
		for _, m := range s.Metrics {
			if m.Scope != s.Scope() {
				t.Errorf("%s must have the scope of its source, %s, got %s", m.Name, s.Scope(), m.Scope)
			}
			if s.Busiest < 0 || s.Busiest >= len(s.Metrics) || s.Busiest > 0 && !s.Threads {
				t.Errorf("source of %s must have metrics of its busiest thread behind others, got %d of %d", m.Name, s.Busiest, len(s.Metrics))
			}
			if s.Threads && m.Kind != Counter {
				t.Errorf("%s must be a counter, because counts of threads are summed, got a %s", m.Name, m.Kind)
			}
		}
	}
}

func TestNewListRefusesWrongDeclarations(t *testing.T) {
	good := Metric{Name: "a", Column: "A", Unit: "bytes", Help: "a", Kind: Gauge, Scope: Host}
	other := good
	other.Name = "b"
	for name, metrics := range map[string][]Metric{
		"no help":     {{Name: "a", Column: "A", Unit: "bytes", Kind: Gauge, Scope: Host}},
		"same name":   {good, good},
		"same column": {good, other},
	} {
		if _, err := NewList(metrics...); err == nil {
			t.Errorf("%s: want an error, got none", name)
		}
	}
	other.Column = "B"
	if l, err := NewList(good, other); err != nil || l.Len() != 2 || l.Must("b").Column != "B" {
		t.Errorf("two good metrics must make a list of two, got %v, %v", l, err)
	}
}

func TestValues(t *testing.T) {
	var zero Values
	if zero.Get(Load1) != Unknown || !zero.Equal(System().Values()) {
		t.Error("the zero Values must equal values that are all unknown")
	}
	v := SystemValues(map[Name]float64{Load1: 1.5})
	w := v.Clone()
	w.Set(Load1, 2)
	if v.Get(Load1) != 1.5 || w.Get(Load1) != 2 || v.Get(Load5) != Unknown || v.Get("none") != Unknown {
		t.Errorf("a clone must share nothing with its original, got %v and %v", v, w)
	}
	if v.Equal(w) || v.String() != "{load1=1.5}" {
		t.Errorf("%v must differ from %v", v, w)
	}
	defer func() {
		if recover() == nil {
			t.Error("setting a metric that is not declared must panic")
		}
	}()
	v.Set("none", 1)
}

// Every series names a declared metric, and the classic columns stay.
func TestAllSeries(t *testing.T) {
	columns := map[string]bool{}
	for _, s := range AllSeries() {
		if _, declared := System().Index(s.Metric); !declared {
			t.Errorf("series %s must be of a declared metric, got %q", s.Column, s.Metric)
		}
		if columns[s.Column] {
			t.Errorf("series %s must be listed once", s.Column)
		}
		columns[s.Column] = true
	}
	for _, name := range []string{"AVG-CPU", "MAX-CPU", "AVG-WRITE-BYTES-NUM-DELTA", "AVG-CLIENT-NUM"} {
		if !columns[name] {
			t.Errorf("%s must be a series", name)
		}
	}
}

func TestSeriesOfAMetric(t *testing.T) {
	counter := Metric{Name: "a", Column: "FAULTS", Kind: Counter}
	if got, want := counter.series(), (Series{Metric: "a", Rate: true, Column: "AVG-FAULTS-DELTA", Server: "FAULTS-DELTA"}); got != want {
		t.Errorf("series of a counter: got %+v, want %+v", got, want)
	}
	gauge := Metric{Name: "a", Column: "STALLED", Kind: Gauge}
	if got, want := gauge.series(), (Series{Metric: "a", Column: "AVG-STALLED", Server: "STALLED"}); got != want {
		t.Errorf("series of a gauge: got %+v, want %+v", got, want)
	}
}
