package membermetrics

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// A URL from the file has the host and port of each endpoint, and never a driver's credentials.
func TestSource(t *testing.T) {
	by := database.MetricsSource{URL: "https://10.0.0.2:8500/v1", Header: map[string]string{"X-Token": "secret"}, Metrics: make([]database.ReportedMetric, 3)}
	if got, err := (Plan{}).Source(by, "10.0.0.2:8500"); err != nil || got.URL != by.URL || got.Header["X-Token"] != "secret" {
		t.Errorf("without a URL the driver's source must stay, got %+v, %v", got, err)
	}
	for endpoint, want := range map[string]string{
		"10.0.0.2:2379":       "http://10.0.0.2:9090/metrics?of=2379",
		"[fd00::1]:2379":      "http://[fd00::1]:9090/metrics?of=2379",
		"[fe80::1%eth0]:2379": "http://[fe80::1%25eth0]:9090/metrics?of=2379",
		"etcd-0.etcd.svc:1":   "http://etcd-0.etcd.svc:9090/metrics?of=1",
	} {
		got, err := Plan{URL: "http://{host}:9090/metrics?of={port}"}.Source(by, endpoint)
		if err != nil || got.URL != want || got.Header != nil || len(got.Metrics) != 3 {
			t.Errorf("%s must be asked at %s, without credentials, got %+v, %v", endpoint, want, got, err)
		}
	}
	if _, err := (Plan{URL: "http://{host}/"}).Source(by, "nowhere"); err == nil {
		t.Error("an endpoint without a port must be an error")
	}
}

func TestCheck(t *testing.T) {
	for url, right := range map[string]bool{
		"http://{host}:9090/metrics": true, "https://{host}:{port}/metrics": true, "http://{host}/": true,
		"http://10.0.0.2/metrics": false, "{host}:9090/metrics": false, "ftp://{host}/": false,
		"http://user:word@{host}/": false, "http:///{host}": false, "http://{host}:nine/": false,
	} {
		if err := (Plan{URL: url}).check(); (err == nil) != right {
			t.Errorf("%s must be right: %v, got %v", url, right, err)
		}
	}
}
