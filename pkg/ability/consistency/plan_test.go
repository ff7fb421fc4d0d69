package consistency

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestPlan: loads are judged by default where possible, unless the file turns that off, and the
// plan says why if not.
func TestPlan(t *testing.T) {
	info := &database.Info{Promises: map[workload.ReadMode]database.Promise{
		workload.ReadLinearizable: {Linearizable: true, Text: "a quorum agrees"}, workload.ReadStale: {Text: "a copy"},
	}}
	for name, c := range map[string]struct {
		wish  Wish
		load  func(*workload.Load)
		parts int
		reuse bool
		form  Form
		why   string
	}{
		"by default":              {form: Judged},
		"asked for":               {wish: On, form: Judged},
		"turned off":              {wish: Off, form: Unasked},
		"stale reads":             {load: func(l *workload.Load) { l.Read = workload.ReadStale }, form: Measured, why: "stale reads promise less than linearizability: a copy"},
		"stale reads, turned off": {wish: Off, load: func(l *workload.Load) { l.Read = workload.ReadStale }, form: Unasked},
		"writes alone":            {load: func(l *workload.Load) { l.Mix, l.Operation, l.Read = nil, workload.OpWrite, "" }, form: Judged},
		"some ranges":             {load: func(l *workload.Load) { l.Mix[0].Operation = workload.OpRange }, form: Judged},
		"ranges alone":            {load: func(l *workload.Load) { l.Mix, l.Operation = nil, workload.OpRange }, form: Unjudged, why: "no operation"},
		"sessions":                {load: func(l *workload.Load) { l.Mix, l.Operation, l.ValueSize = nil, workload.OpKeepAlive, 0 }, form: Unjudged, why: "no operation"},
		"locks":                   {load: func(l *workload.Load) { l.Mix, l.Operation = nil, workload.OpLock }, form: Unjudged, why: "no operation"},
		"small values":            {load: func(l *workload.Load) { l.ValueSize = LeastValue - 1 }, form: Unjudged, why: "values of less than 16 bytes"},
		"the smallest values":     {load: func(l *workload.Load) { l.ValueSize = LeastValue }, form: Judged},
		"generators share keys":   {parts: 2, load: func(l *workload.Load) { l.KeyLaw = workload.KeysUniform }, form: Unjudged, why: "each knows only what it wrote itself"},
		"generators of own keys":  {parts: 2, form: Judged},
		"keys of others":          {reuse: true, form: Unjudged, why: "others may write the keys"},
		"keys of others, asked":   {wish: On, reuse: true, form: Judged},
	} {
		l := workload.Load{}
		l.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpUpdate, Weight: 1}}
		l.Read, l.ValueSize, l.Keys, l.KeyLaw = workload.ReadLinearizable, 64, 10, workload.KeysSequential
		if c.load != nil {
			c.load(&l)
		}
		v := Plan(c.wish, &l, info, c.parts, c.reuse)
		if v.Form != c.form || !strings.Contains(v.Why, c.why) || (v.Why == "") != (c.why == "") {
			t.Errorf("%s: the form is %q because %q, want %q because %q", name, v.Form, v.Why, c.form, c.why)
		}
	}
}

// TestBudget: if a load is judged by default, its keys are read back for a twentieth of its length,
// within bounds.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		wish         Wish
		length, want time.Duration
	}{
		{On, time.Second, budget}, {On, time.Hour, budget},
		{ByDefault, 0, leastBudget}, {ByDefault, 10 * time.Second, leastBudget}, {ByDefault, 200 * time.Second, 10 * time.Second}, {ByDefault, time.Hour, budget},
	} {
		if got := c.wish.Budget(c.length); got != c.want {
			t.Errorf("a load of %v with the wish %q: %v, want %v", c.length, c.wish, got, c.want)
		}
	}
}
