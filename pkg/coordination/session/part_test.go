package session

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// random returns a part with some sessions that died and ended.
func random(r *rand.Rand, n int, start time.Time) Part {
	keeps := histogram.New()
	p := Part{
		Took:  time.Duration(1 + r.Int64N(1e9)),
		Tally: deaths.Tally{Granted: n - 1, Why: "no room", TTL: 8 * time.Second, Abandoned: n - 1, Early: r.IntN(3), KeepsLost: r.Int64N(5), Left: r.IntN(2)},
	}
	p.Death = start.Add(time.Duration(r.Int64N(1e8)))
	for range n - 1 {
		histogram.Record(keeps, time.Duration(r.Int64N(1e8)))
		late := r.Int64N(2e9)
		p.Ends = append(p.Ends, End{Late: late, Least: late - r.Int64N(1e6), At: start.UnixNano() + late + 8e9})
		sent := start.Add(-time.Duration(r.Int64N(2e9)))
		p.FirstSent, p.LastSent = earlier(p.FirstSent, sent), later(p.LastSent, sent)
	}
	p.Longest = time.Duration(keeps.Max())
	p.Keeps = histogram.BucketsOf(keeps)
	slices.SortFunc(p.Ends, func(a, b End) int { return int(a.At - b.At) })
	return p
}

// Records from several machines merge into one outcome, as if one had held all sessions, also after
// they were encoded.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Unix(1000, 0).UTC()
	plan, facts := deaths.Plan{Held: 903, TTL: 8 * time.Second}, database.SessionFacts{What: "session", Rule: "exact", Ends: expiry.Exact.Ends}
	parts := []Part{random(r, 300, start), random(r, 600, start), random(r, 3, start)}
	one := Part{Tally: deaths.Tally{Granted: 900, Abandoned: 900, Why: "no room", TTL: 8 * time.Second}}
	keeps := histogram.New()
	for _, p := range parts {
		one.Took, one.Longest, one.Early, one.KeepsLost, one.Left = max(one.Took, p.Took), max(one.Longest, p.Longest), one.Early+p.Early, one.KeepsLost+p.KeepsLost, one.Left+p.Left
		one.Death, one.FirstSent, one.LastSent = earlier(one.Death, p.Death), earlier(one.FirstSent, p.FirstSent), later(one.LastSent, p.LastSent)
		one.Ends = append(one.Ends, p.Ends...)
		p.Keeps.AddTo(keeps)
	}
	one.Keeps = histogram.BucketsOf(keeps)
	want := Merge(plan, facts, one)
	if want.NotGranted != 3 || want.Expired != 900 || want.Keeps.N != 900 || want.Late.N != 900 || want.PerSecond == 0 || want.AllGone < want.FirstGone {
		t.Fatalf("the outcome of one machine is %+v", want)
	}
	for i := range parts {
		data, err := json.Marshal(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		var got Part
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if n := len(got.Ends); len(data) > 4000+25*n+40*len(got.Keeps) {
			t.Errorf("%d sessions need %d bytes", n, len(data))
		}
		if diff := cmp.Diff(parts[i], got); diff != "" {
			t.Errorf("part %d changed on its way (-sent +got):\n%s", i, diff)
		}
		parts[i] = got
	}
	if diff := cmp.Diff(want, Merge(plan, facts, parts...)); diff != "" {
		t.Errorf("three machines (-want +got):\n%s", diff)
	}
	if o := Merge(plan, facts, parts[0], Part{}); o.Granted != 299 || o.NotGranted != 604 || o.Expired != 299 {
		t.Errorf("with a machine that is not known: %+v", o)
	}
}

// Ends that were not encoded here are refused, without memory for the sizes that they claim.
func TestEndsDamaged(t *testing.T) {
	whole, err := json.Marshal(Ends{{Late: 5, Least: 4, At: 1e18}, {Late: 7, Least: 7, At: 1e18 + 3}})
	if err != nil {
		t.Fatal(err)
	}
	var e Ends
	if err := json.Unmarshal(whole, &e); err != nil || len(e) != 2 {
		t.Fatalf("%v, %v", e, err)
	}
	for _, text := range []string{`""`, `"AQ=="`, `"////////////AQ=="`, `7`, `"!"`, `"AAAA"`} {
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s was decoded as %d ends", text, len(e))
		}
	}
}

// The plans for several machines are one together.
func TestSplit(t *testing.T) {
	whole := deaths.Plan{Held: 10, TTL: 4 * time.Second, Keep: time.Second, Keys: 2, Release: "5/s"}
	held, rate := 0, 0.0
	for i, p := range Split(whole, 3) {
		held, rate = held+p.Held, rate+p.Release.PerSecond()
		if p.TTL != whole.TTL || p.Keep != whole.Keep || p.Keys != whole.Keys || p.Held < 3 || p.Held > 4 {
			t.Errorf("plan %d is %+v", i, p)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := PlanOf(data); err != nil || got != p {
			t.Errorf("plan %+v became %+v: %v", p, got, err)
		}
	}
	if held != 10 || rate < 4.999 || rate > 5.001 {
		t.Errorf("%d sessions are held and die at %v/s, want 10 at 5/s", held, rate)
	}
	if few := Split(deaths.Plan{Held: 1}, 2); few[0].Held != 1 || few[1].Held != 0 {
		t.Errorf("one session is split as %+v", few)
	}
	for _, text := range []string{"", "{}", `{"held":-1,"keys":1,"ttl_ns":2,"keep_ns":1,"release":"never"}`, `{"held":1,"keys":1,"ttl_ns":1,"keep_ns":1,"release":"never"}`, `{"held":1,"keys":1,"ttl_ns":2,"keep_ns":1,"release":"soon"}`} {
		if p, err := PlanOf([]byte(text)); err == nil {
			t.Errorf("%s is the plan %+v", text, p)
		}
	}
}
