package etcd

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

func TestCPUProfile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/profile" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, "profile of "+r.URL.Query().Get("seconds"))
	}))
	defer server.Close()
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	target := database.Target{Endpoints: []string{strings.TrimPrefix(bare.URL, "http://"), strings.TrimPrefix(server.URL, "http://")}}
	on, off := New(), New()
	on.Pprof = true
	for _, tt := range []struct {
		driver     *Options
		member     int
		want, fail string
	}{
		{on, 1, "profile of 3", ""},
		{off, 1, "profile of 3", ""}, // a cluster started by others
		{on, 0, "", "profile etcd: the member answered 404 Not Found"},
		{off, 0, "", "profile etcd: the member answered 404 Not Found (the option pprof is off)"},
		{on, 2, "", "profile etcd: the member must be from 0 to 1, got 2"},
	} {
		var b bytes.Buffer
		err := tt.driver.CPUProfile(t.Context(), target, tt.member, 3*time.Second, &b)
		if b.String() != tt.want || (err == nil) != (tt.fail == "") || err != nil && err.Error() != tt.fail {
			t.Errorf("member %d: %q, %v; want %q, %q", tt.member, b.String(), err, tt.want, tt.fail)
		}
	}
}

// TestPlanPprof: the flag is present when requested, and the server in this binary
// knows it.
func TestPlanPprof(t *testing.T) {
	o := New()
	m := database.Member{Hosts: Database().Info.FillPorts([]database.Host{{Addr: "127.0.0.1"}}), Dir: t.TempDir()}
	if slices.Contains(o.args(m), "--enable-pprof") {
		t.Error("it is on by default")
	}
	o.Pprof = true
	cfg, err := parse(o.args(m))
	if err != nil || !cfg.EnablePprof {
		t.Errorf("%+v, %v", cfg, err)
	}
}
