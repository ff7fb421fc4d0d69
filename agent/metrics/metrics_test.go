package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
)

// An agent without a session exposes its states, and its generator's only if it issues loads. Each
// fault kind is there once.
func TestIdle(t *testing.T) {
	registry := database.NewRegistry(fake.Database())
	a, err := agent.New(agent.Options{Registry: registry, WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := generator.New(generator.Options{Registry: registry, Shown: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, loads := range []bool{true, false} {
		o := Options{Agent: a, Faults: []string{"pause", "kill", "pause"}, Version: "v1"}
		if loads {
			o.Generator = g
		}
		h, err := Handler(o)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		parser := expfmt.NewTextParser(model.UTF8Validation)
		all, err := parser.TextToMetricFamilies(w.Body)
		if err != nil || w.Code != http.StatusOK {
			t.Fatalf("scrape: %d, %v", w.Code, err)
		}
		want := map[string]int{"agent_info": 1, "agent_session_state": 6, "agent_member_down": 1, "agent_faults_lasting": 2, "agent_faults_total": 2}
		if loads {
			want["generator_session_state"] = len(generator.States)
		}
		if len(all) != len(want) {
			t.Errorf("%d metrics are exposed, want %d", len(all), len(want))
		}
		for name, n := range want {
			if got := all["dbtester_"+name].GetMetric(); len(got) != n {
				t.Errorf("%s has %d values, want %d", name, len(got), n)
			}
		}
	}
}
