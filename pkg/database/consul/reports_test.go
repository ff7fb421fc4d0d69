package consul

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// The token of the load is sent to the member's own address, and nothing is sent without one.
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
