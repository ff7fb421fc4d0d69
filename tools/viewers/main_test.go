package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/tools/experiment"
)

// TestRead: the figures cover the measured seconds.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("manifest.json", `{"databases": [{"tag": "etcd", "lateness": {"n": 5, "p50_ns": 20000, "p99_ns": 3000000}}]}`)
	write("etcd/intervals.csv", "second,phase,response_ok_count,response_ok_sum_ns\n1000,warm-up,9,9\n1001,measure,100,200000000\n1002,measure,0,0\n1003,measure,300,600000000\n1004,cool-down,9,9\n")
	write("etcd/client-system-metrics.csv", "UNIX-NANOSECOND,CPU-SECONDS\n1000500000000,1\n1001000000000,2\n1002000000000,2.5\n1003000000000,2.5\n1004000000000,9\n")
	f, err := read(dir)
	if want := (figures{cpu: 25, late50: 20e-6, late99: 3e-3, response: 2e-3}); err != nil || f != want {
		t.Errorf("got %+v, %v, want %+v", f, err, want)
	}
	write("manifest.json", `{"databases": []}`)
	if _, err := read(dir); err == nil {
		t.Error("a run without a database was read")
	}
}

// TestLook: a viewer reads to the end of the stream and counts the seconds.
func TestLook(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			fmt.Fprint(w, "event: second\ndata: {}\n\n")
		}
		fmt.Fprint(w, "event: report\ndata: {}\n\n")
	}))
	defer server.Close()
	if n := look(t.Context(), server.URL); n != 3 {
		t.Errorf("%d seconds, want 3", n)
	}
}

// TestReport: the cost is the median of the differences within pairs.
func TestReport(t *testing.T) {
	var list []experiment.Pair[figures]
	for i := range 6 {
		one := figures{cpu: 5 + float64(i), late50: 1, late99: 2, response: 3}
		two := one
		two.cpu += 0.25
		list = append(list, experiment.Pair[figures]{With: two, Without: one})
	}
	var out strings.Builder
	heading(&out, 6, 3)
	report(&out, 1000, list, []string{"busy"})
	for _, want := range []string{"6 pairs of runs", "3 viewers", "## 1000 writes a second", "Viewers cost control 0.25 % of a core (0.25 to 0.25, 96.9 %), the median of the differences within 6 pairs", "| the load's lateness, p99 | 2000 ms | 2000 ms | 1.000 |", "A pair failed and is not counted: busy"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
}
