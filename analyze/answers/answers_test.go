package answers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// repeated are n trials, each with values scaled a little, by turns up and down.
func repeated(n int, values map[string][2]float64) (trials []map[string][2]float64) {
	for i := range n {
		trial := map[string][2]float64{}
		for tag, v := range values {
			by := 1 + .004*float64(i%3-1) + .001*float64(len(tag)%3*(i%2))
			trial[tag] = [2]float64{v[0] * by, v[1] / by}
		}
		trials = append(trials, trial)
	}
	return trials
}

// steps are the stages in one trial at 10, 100 and 1,000 clients.
func steps(ok ...float64) (points []point) {
	for i, v := range ok {
		points = append(points, point{clients: []int{10, 100, 1000}[i], ok: v, p99: 20})
	}
	return points
}

// Each case has a known truth, and the sentence that it deserves.
func TestSentences(t *testing.T) {
	t.Parallel()
	two, three := []string{"etcd", "consul"}, []string{"etcd", "zookeeper", "consul"}
	once := func(values map[string][2]float64) maker {
		var tags []string
		for _, tag := range append(three, "consul-get") {
			if _, ok := values[tag]; ok {
				tags = append(tags, tag)
			}
		}
		return one(tags, values)
	}
	with := func(m maker, load func(tag string, l *workload.Load)) maker { m.load = load; return m }
	const look = "One run of each is too few to name a winner."
	paced := func(m maker, rate float64) maker {
		for _, trial := range m.trials {
			for tag := range trial {
				trial[tag][0].rate = rate
			}
		}
		return m
	}
	many := func(n int, values map[string][]point, columns ...string) (m maker) {
		m.columns = columns
		for i := range n {
			trial := map[string][]point{}
			for tag, points := range values {
				for _, p := range points {
					p.ok *= 1 + .002*float64(i%3)
					trial[tag] = append(trial[tag], p)
				}
			}
			m.trials = append(m.trials, trial)
		}
		return m
	}
	for _, tt := range []struct {
		name     string
		m        maker
		sentence string
		basis    string
	}{
		{"one database", once(map[string][2]float64{"etcd": {1234, 10}}), "With 100 clients etcd answered 1,230 writes a second, 99 % of them within 9.90 ms.", ""},
		{"one run each names no winner", once(map[string][2]float64{"etcd": {1600, 5}, "consul": {1000, 9}}), "With 100 clients etcd answered 1,600 writes a second and consul 1,000.", look},
		{"a winner of ten trials", one(two, repeated(10, map[string][2]float64{"etcd": {1600, 5}, "consul": {1000, 9}})...), "With 100 clients etcd answered 1,600 writes a second: 1.6 times as many as consul (1,000).", ""},
		{"two alike, and the third is not forgotten", one(three, repeated(10, map[string][2]float64{"etcd": {1600, 5}, "zookeeper": {1601, 5}, "consul": {1000, 9}})...), "", ""},
		{"unlike operations", with(once(map[string][2]float64{"etcd": {5000, 5}, "consul-get": {1000, 9}}), func(tag string, l *workload.Load) {
			if tag == "etcd" {
				l.Operation, l.Read = workload.OpRead, workload.ReadLinearizable
			}
		}), "etcd answered 5,000 reads a second and consul-get 1,000 writes; they differ in operation, so they are not ranked.", look},
		{"unlike read modes", with(once(map[string][2]float64{"etcd": {5000, 5}, "consul": {9000, 9}}), func(tag string, l *workload.Load) {
			l.Operation, l.Read = workload.OpRead, workload.ReadLinearizable
			if tag == "consul" {
				l.Read = workload.ReadStale
			}
		}), "etcd answered 5,000 reads a second and consul 9,000; they differ in read mode, so they are not ranked.", look},
		{"rate kept", paced(once(map[string][2]float64{"etcd": {1000, 5}, "consul": {998, 9}}), 1000), "All kept 1,000/s; 99 % of the requests to etcd took at most 4.95 ms and to consul 8.91 ms.", look},
		{"rate that nobody keeps", paced(once(map[string][2]float64{"etcd": {970, 5}, "consul": {960, 9}}), 1000), "The rate was not kept: etcd answered 970 of 1,000/s and consul answered 960 of 1,000/s.", look},
		{"rate that one keeps", paced(once(map[string][2]float64{"etcd": {1000, 5}, "consul": {500, 9}}), 1000), "", look},
		{"steps", many(1, map[string][]point{"etcd": steps(2000, 6000, 9000), "consul": steps(1000, 9800, 4000)}, "etcd", "consul"), "With 1,000 clients etcd answered 9,000 writes a second and consul 4,000; consul peaked at 100 clients, with 9,800/s.", look},
		{"steps with a winner", many(14, map[string][]point{"etcd": steps(2000, 6000, 9000), "consul": steps(1000, 9800, 4000)}, "etcd", "consul"), "With 1,000 clients etcd answered 9,020 writes a second: 2.2 times as many as consul (4,010); etcd leads consul at 2 of 3 points and is behind at 1; consul peaked at 100 clients, with 9,820/s.", ""},
	} {
		a := Of(tt.m.make())
		if tt.sentence != "" && a.Sentence != tt.sentence {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, a.Sentence, tt.sentence)
		}
		if tt.basis != "" && a.Basis != tt.basis {
			t.Errorf("%s: basis\n got %s\nwant %s", tt.name, a.Basis, tt.basis)
		}
		for _, c := range tt.m.columns {
			if !strings.Contains(a.Sentence, c) && !strings.HasPrefix(a.Sentence, "All") {
				t.Errorf("%s: the sentence forgets %s: %s", tt.name, c, a.Sentence)
			}
		}
		if t.Failed() {
			t.Log(a.Sentence, "|", a.Basis)
		}
	}
}

// The report states that two labels for one release are one program. That changes no decision: a
// difference between them is named like any other.
func TestOneProgram(t *testing.T) {
	t.Parallel()
	m := one([]string{"etcd-new", "etcd-old", "other"}, map[string][2]float64{"etcd-new": {1600, 5}, "etcd-old": {1000, 9}, "other": {900, 9}})
	m.record = func(tag string, r *run.Run) {
		hash := "abc"
		if tag == "other" {
			hash = "def"
		}
		r.Info.Record.Database = "etcd"
		for i := range r.Info.Record.Members {
			r.Info.Record.Members[i].Release = &results.Release{SHA256: map[string]string{"etcd": hash}}
		}
	}
	if a := Of(m.make()); !strings.HasSuffix(a.Basis, "etcd-new and etcd-old ran the same program.") || strings.Contains(a.Basis, "other") {
		t.Errorf("the basis is %q", a.Basis)
	}
	often := one([]string{"etcd-new", "etcd-old"}, repeated(10, map[string][2]float64{"etcd-new": {1600, 5}, "etcd-old": {1000, 9}})...)
	plain := Of(often.make())
	often.record = m.record
	twins := Of(often.make())
	if len(twins.Claims) != 1 || twins.Sentence != plain.Sentence || !strings.Contains(twins.Basis, "ran the same program") {
		t.Errorf("got %q with %d claims, want a winner and %q; the basis is %q", twins.Sentence, len(twins.Claims), plain.Sentence, twins.Basis)
	}
}

// Many columns that ran the same program are counted, and the release is named if all columns ran it.
func TestManyOfOneProgram(t *testing.T) {
	t.Parallel()
	basis := func(columns []string, record func(tag string, r *results.DatabaseRun)) string {
		values := map[string][2]float64{}
		for _, c := range columns {
			values[c] = [2]float64{1000, 5}
		}
		m := one(columns, values)
		m.record = func(tag string, r *run.Run) {
			r.Info.Record.Database, _, _ = strings.Cut(tag, "-")
			for i := range r.Info.Record.Members {
				r.Info.Record.Members[i].Version = "3.7.3"
				r.Info.Record.Members[i].Release = &results.Release{SHA256: map[string]string{"server": "abc"}}
			}
			record(tag, r.Info.Record)
		}
		return strings.TrimPrefix(Of(m.make()).Basis, "One run of each is too few to name a winner. ")
	}
	other := func(tag string, r *results.DatabaseRun) {
		if strings.HasSuffix(tag, "-new") {
			r.Members[0].Release = &results.Release{SHA256: map[string]string{"server": "def"}}
		}
	}
	proxy := func(_ string, r *results.DatabaseRun) {
		for i := range r.Members {
			r.Members[i].Version = "etcd 3.7.3"
		}
	}
	alike := func(string, *results.DatabaseRun) {}
	for _, tt := range []struct {
		columns []string
		record  func(tag string, r *results.DatabaseRun)
		want    string
	}{
		{[]string{"etcd-1", "etcd-2"}, alike, "etcd-1 and etcd-2 ran the same program, etcd 3.7.3."},
		{[]string{"etcd-1", "etcd-2", "etcd-3", "etcd-4"}, alike, "All 4 ran the same program, etcd 3.7.3."},
		{[]string{"zetcd-1", "zetcd-2", "zetcd-3", "zetcd-4"}, proxy, "All 4 ran the same program."},
		{[]string{"etcd-1", "etcd-2", "etcd-3", "etcd-4", "consul"}, alike, "4 columns of etcd ran the same program."},
		{[]string{"etcd-1", "etcd-2", "etcd-3", "etcd-4", "etcd-new"}, other, "4 columns of etcd ran the same program."},
		{[]string{"etcd-1", "etcd-2", "consul-1", "consul-2", "zookeeper"}, alike, "Each database ran one program in all of its columns."},
		{[]string{"etcd-1", "etcd-2", "consul-1", "consul-2", "consul-new"}, other, "etcd-1 and etcd-2 ran the same program. consul-1 and consul-2 ran the same program."},
	} {
		if got := basis(tt.columns, tt.record); got != tt.want {
			t.Errorf("of %q the basis is %q, want %q", tt.columns, got, tt.want)
		}
	}
}

// A column that is not valid is named, and not compared.
func TestNotValid(t *testing.T) {
	t.Parallel()
	columns := one([]string{"etcd", "consul"}, map[string][2]float64{"etcd": {1600, 5}, "consul": {1000, 9}}).make()
	columns[0].Valid = false
	if a := Of(columns); !strings.Contains(a.Sentence, "consul answered 1,000") || !strings.HasSuffix(a.Sentence, "Not compared: etcd is not valid.") {
		t.Errorf("got %q", a.Sentence)
	}
	columns[1].Valid = false
	if a := Of(columns); a.Sentence != "Nothing can be compared: etcd and consul are not valid." {
		t.Errorf("got %q", a.Sentence)
	}
}

// The longest pause is the answer where a server was to be lost, without a winner.
func TestLostServer(t *testing.T) {
	t.Parallel()
	m := one([]string{"etcd", "consul"}, map[string][2]float64{"etcd": {500, 5}, "consul": {500, 9}})
	m.load = func(_ string, l *workload.Load) { l.Expect.LostServers = 1 }
	m.record = func(tag string, r *run.Run) {
		r.Stages[0].Availability.Gap = run.Measured(map[string]float64{"etcd": 7010, "consul": 809}[tag], 0)
	}
	a := Of(m.make())
	if want := "When a server was lost, no request was answered for 7.01 s by etcd and 809 ms by consul."; a.Sentence != want || len(a.Claims) > 0 {
		t.Errorf("got %q with %d claims, want %q", a.Sentence, len(a.Claims), want)
	}
}

// A store that refuses from some second on is not a slow store.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := one([]string{"etcd"}, map[string][2]float64{"etcd": {2000, 5}})
	m.load = func(_ string, l *workload.Load) { l.Expect.Unknown = 60 }
	m.record = func(_ string, r *run.Run) {
		r.Windows.Load.From = 100e9
		for i := range int64(10) {
			s := run.Second{Unix: 100 + i, OK: 400}
			if i >= 4 {
				s.OK, s.Unknown = 0, 400
			}
			r.Load.Seconds = append(r.Load.Seconds, s)
		}
		r.Load.Errors = []run.ErrorCount{{Class: "space exceeded", Count: 2400}}
	}
	if a, want := Of(m.make()), "etcd answered 400 writes a second for 4.00 s, then none until the end (space exceeded): 60.0 % of 4,000 were not answered."; a.Sentence != want {
		t.Errorf("got  %s\nwant %s", a.Sentence, want)
	}
}

// A held rate is "sustained"; a rate that was only found is not, and a search that found
// nothing is counted.
func TestCapacity(t *testing.T) {
	t.Parallel()
	m := one([]string{"etcd", "consul"}, map[string][2]float64{"etcd": {900, 5}, "consul": {100, 5}})
	m.record = func(tag string, r *run.Run) {
		c := &capacity.Result{Reason: "found", Rate: 1000, Low: 950, High: 1050, Held: 900, Holds: 1}
		c.Hold, c.Latency, c.At = 8e9, 20e6, 99
		if tag == "consul" {
			c.Held, c.Holds = 0, 6
		}
		r.Capacity = &run.Capacity{Result: c}
	}
	want := "With p99 <= 20 ms etcd sustained 900 writes a second (capacity 1,000/s, 950 to 1,050) and consul held no rate in 1 of 1 trials (capacity 1,000/s, 950 to 1,050)."
	if a := Of(m.make()); a.Sentence != want {
		t.Errorf("got  %s\nwant %s", a.Sentence, want)
	}
}

// drawn makes trials for columns whose logarithms deviate normally around 0, the first one shifted;
// the p99 latency deviates by itself.
func drawn(rng *rand.Rand, columns []string, trials int, shift, spread float64) []Column {
	var all []map[string][2]float64
	for range trials {
		trial := map[string][2]float64{}
		for i, tag := range columns {
			v := rng.NormFloat64() * spread
			if i == 0 {
				v += shift
			}
			trial[tag] = [2]float64{1000 * math.Exp(v), 10 * math.Exp(rng.NormFloat64()*spread)}
		}
		all = append(all, trial)
	}
	return one(columns, all...).make()
}

// The screen never names a winner that package compare does not name on the same runs.
func TestNoWinnerWithoutCompare(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	claims := 0
	for range 30 {
		tags := []string{"a", "b", "c"}[:2+rng.IntN(2)]
		columns := drawn(rng, tags, 1+rng.IntN(12), .3*rng.Float64(), .1*rng.Float64())
		a := Of(columns)
		for _, c := range a.Claims {
			claims++
			side := func(name string) []*run.Run {
				return columns[slices.IndexFunc(columns, func(o Column) bool { return o.Name == name })].Runs
			}
			r, err := compare.Columns(side(c.Ahead), side(c.Behind))
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := r.Finding("throughput", 0); !ok || f.Verdict != abtest.Worse || c.P < f.Adjusted {
				t.Errorf("the screen names %s ahead of %s with p %.4f; compare says %q with p %.4f", c.Ahead, c.Behind, c.P, f.Verdict, f.Adjusted)
			}
		}
		if a.Look && len(a.Claims) > 0 {
			t.Errorf("a look names a winner: %s", a.Sentence)
		}
	}
	if claims < 5 {
		t.Errorf("only %d claims were checked", claims)
	}
}

// Equal columns have a winner in at most a few screens out of many, and differing columns are
// distinguished as often as the power promises.
func TestErrorsAndPower(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 60 // `make verdicts` makes 2,000
	for _, tags := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
		wrong, named := 0, 0
		const trials = 12
		for range draws {
			if len(Of(drawn(rng, tags, trials, 0, .1)).Claims) > 0 {
				wrong++
			}
			for _, c := range Of(drawn(rng, tags, trials, math.Log(1.2), .1)).Claims {
				if c.Ahead == "a" {
					named++
				}
			}
		}
		if wrong > 9 { // 3 are expected at most; the chance of more than 9 is 0.1 %
			t.Errorf("%d of %d screens of %d equal columns name a winner", wrong, draws, len(tags))
		}
		power := abtest.Screen{Columns: len(tags), Trials: trials, Metrics: 2, Moved: 1, Alpha: compare.Alpha}.Power(math.Log(1.2), .1)
		if got := float64(named) / draws / float64(len(tags)-1); math.Abs(got-power) > .2 {
			t.Errorf("%d columns: a difference of 20 %% was named in %.0f %% of the pairs, the power is %.0f %%", len(tags), 100*got, 100*power)
		}
	}
}
