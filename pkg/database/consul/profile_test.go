package consul

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

func TestCPUProfile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/profile" || r.Header.Get("X-Consul-Token") != "let me in" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		io.WriteString(w, "profile of "+r.URL.Query().Get("seconds"))
	}))
	defer server.Close()
	target := database.Target{Endpoints: []string{strings.TrimPrefix(server.URL, "http://")}, Auth: &database.Auth{Password: "let me in"}}
	var b bytes.Buffer
	if err := New().CPUProfile(t.Context(), target, 0, 3*time.Second, &b); err != nil || b.String() != "profile of 3" {
		t.Errorf("%q, %v", b.String(), err)
	}
	target.Auth = nil
	for on, want := range map[bool]bool{true: false, false: true} {
		o := New()
		o.EnableDebug = on
		err := o.CPUProfile(t.Context(), target, 0, 3*time.Second, io.Discard)
		if err == nil || strings.Contains(err.Error(), "(the option enable_debug is off)") != want {
			t.Errorf("enable_debug %v: %v", on, err)
		}
	}
	o := New()
	o.EnableDebug = true
	m := database.Member{Hosts: Database().Info.FillPorts([]database.Host{{Addr: "127.0.0.1"}})}
	if o.config(m)["enable_debug"] != true || New().config(m)["enable_debug"] != nil {
		t.Error("the plan does not say what the option says")
	}
}
