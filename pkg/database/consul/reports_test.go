package consul

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/member/scrape"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// The load token is sent to the member address only, and nothing is sent without one.
func TestReports(t *testing.T) {
	target := database.Target{Endpoints: []string{"10.0.0.2:8500", "10.0.0.3:8501"}, TLS: &database.TLS{}, Auth: &database.Auth{Password: "let me in"}}
	got := New().Reports(target, 1)
	if want := "https://10.0.0.3:8501/v1/agent/metrics?format=prometheus"; got.URL != want || got.Header["X-Consul-Token"] != "let me in" {
		t.Errorf("want %s and the token, got %s and %v", want, got.URL, got.Header)
	}
	target.TLS, target.Auth = nil, nil
	if got := New().Reports(target, 0); got.URL != "http://10.0.0.2:8500/v1/agent/metrics?format=prometheus" || len(got.Header) > 0 {
		t.Errorf("without TLS and credentials: %+v", got)
	}
}

// Writes that a member reports are single ones and transactions, each of which counts once and takes
// some time.
func TestReportedWrites(t *testing.T) {
	t.Parallel()
	s := databasetest.Suite{Database: Database(), Addrs: []string{"127.0.5.60"}, Tools: databasetest.Release(t, Database(), "1.21.0")}
	c := databasetest.Start(t, s, 1)
	conn := dial(t, c, c.Target())
	scraper := scrape.New(*c.Plan(0).Metrics, nil)
	defer scraper.Close()
	reported := func() (writes, seconds float64) {
		t.Helper()
		var sample results.DatabaseSample
		err := errors.New("not asked")
		for until := time.Now().Add(databasetest.Patience); err != nil && time.Now().Before(until); {
			sample, err = scraper.Scrape(t.Context()) // a busy member may answer late
		}
		if err != nil {
			t.Fatalf("scrape the member: %v", err)
		}
		return sample.Values.Get(metric.Writes), sample.Values.Get(metric.WriteSeconds)
	}
	writes, seconds := reported()
	grown := func(want float64, what string) {
		t.Helper()
		n, took := reported()
		if n-writes != want || took <= seconds {
			t.Errorf("after %s: %g writes more in %g s, want %g", what, n-writes, took-seconds, want)
		}
		writes, seconds = n, took
	}
	for i := range 3 {
		if err := conn.Put(t.Context(), fmt.Append(nil, "put", i), []byte("value")); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	grown(3, "three puts")
	for i := range 4 {
		puts := []database.GuardedPut{{Key: fmt.Append(nil, "a", i), Value: []byte("value")}, {Key: fmt.Append(nil, "b", i), Value: []byte("value")}}
		if err := conn.(database.Transactor).Txn(t.Context(), puts); err != nil {
			t.Fatalf("make a transaction: %v", err)
		}
	}
	grown(4, "four transactions of two keys")
}
