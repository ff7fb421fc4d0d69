package stalls

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// of is a one-minute run with stalls.
func of(s run.Stalls) *run.Run {
	r := &run.Run{Stalls: s}
	r.Windows.Load.From = begin.UnixNano()
	return r
}

// stall is one with a length that begins a while after the load.
func stall(after, length time.Duration, coincided ...run.Overlap) run.Stall {
	return run.Stall{From: begin.Add(after), Length: length, OK: 5, Expected: 300, Coincided: coincided}
}

// six are six stalls: five with a snapshot, one of those also with a leader, and one with nothing.
func six() run.Stalls {
	s := run.Stalls{Judged: time.Minute, Slot: 100 * time.Millisecond}
	for i := range 5 {
		s.List = append(s.List, stall(time.Duration(7*i+3)*time.Second, 300*time.Millisecond, run.Overlap{Kind: "snapshot", Length: 200 * time.Millisecond}))
	}
	s.List[1].Coincided = append(s.List[1].Coincided, run.Overlap{Kind: "another leader", Length: 300 * time.Millisecond})
	s.List = append(s.List, stall(50*time.Second, 1500*time.Millisecond))
	s.Kinds = []run.StallKind{
		{Kind: "snapshot", Events: 7, Stalls: 5, Overlap: time.Second, Covered: 3 * time.Second, P: 0.0001},
		{Kind: "another leader", Events: 2, Stalls: 1, Overlap: 300 * time.Millisecond, Covered: 600 * time.Millisecond, Why: "fewer than 5 events"},
	}
	return s
}

func TestRows(t *testing.T) {
	limited := run.Stalls{Judged: 50 * time.Second, Stopped: 2 * time.Second, Slot: 300 * time.Millisecond, NotJudged: []string{"it has no measured window"}}
	few := six()
	few.List, few.Kinds = few.List[:2], []run.StallKind{{Kind: "another leader", Stalls: 1, Overlap: 300 * time.Millisecond, Covered: 600 * time.Millisecond, Why: "fewer than 5 stalls"}}
	for _, c := range []struct {
		name string
		of   run.Stalls
		want [2]string // "" for a cell that says why there is nothing
	}{
		{"six", six(), [2]string{
			"6, 3.0 s in all (5 % of 60.0 s), longest 1.5 s, 50.0 s after the load began",
			"snapshot 33.3 % (of all time 5 %; 5 of 6, p 0.0001); another leader 10 % (of all time 1 %; 1 of 6, coincided, no p: fewer than 5 events); nothing that was recorded: 1 of 6",
		}},
		{"few", few, [2]string{
			"2, 0.6 s in all (1 % of 60.0 s), longest 0.3 s, 3.0 s after the load began",
			"another leader 50 % (of all time 1 %; 1 of 2); coincided, no p: fewer than 5 stalls",
		}},
		{"none", limited, [2]string{"none in 50.0 s; ticks of 300ms, because few requests ended in 100 ms; 2.0 s not judged, because this client did not run; steps not judged: it has no measured window", ""}},
		{"unknown", run.Stalls{Missing: "the records have no ticks of 100 ms"}, [2]string{"", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, row := range (Half{}).Rows() {
				m, text := row.Cell(of(c.of))
				if text != c.want[i] || (text == "") != (m.Missing != "") {
					t.Errorf("%s is %q (%+v), want %q", row.Name, text, m, c.want[i])
				}
			}
		})
	}
}

// The first screen names the events that coincided with the longest stall in all trials, if it
// lasted a second.
func TestFindings(t *testing.T) {
	say := (Half{}).Findings()[0].Of
	short, named := six(), six()
	short.List = short.List[:5]
	named.List[2].Length = 2 * time.Second
	for _, c := range []struct {
		of   []*run.Run
		want string
	}{
		{[]*run.Run{of(six())}, "6, longest 1.5 s, coincided with nothing that was recorded"},
		{[]*run.Run{of(six()), of(named)}, "12, longest 2.0 s, coincided with snapshot (p 0.0001)"},
		{[]*run.Run{of(short), of(run.Stalls{})}, ""},
	} {
		if got := say(c.of); got != c.want {
			t.Errorf("the finding is %q, want %q", got, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	files := (Half{}).Files(of(six()))
	if len(files) != 1 || !slices.Equal((Half{}).FileNames(), []string{files[0].Name}) || files[0].Name != "stalls.csv" || len(files[0].Records) != 8 {
		t.Fatalf("files %+v, want one with a line for each stall and kind", files)
	}
	for i, want := range map[int]string{
		0: "stall,step,from_seconds,length_seconds,ok,expected,coincided,overlap_seconds,kind_stalls,kind_p,kind_without_p",
		1: "1,0,3,0.3,5,300,snapshot,0.2,5,0.0001,",
		3: "2,0,10,0.3,5,300,another leader,0.3,1,,fewer than 5 events",
		7: "6,0,50,1.5,5,300,,0,,,",
	} {
		if got := strings.Join(files[0].Records[i], ","); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	if (Half{}).Files(of(run.Stalls{})) != nil {
		t.Error("a file without stalls")
	}
}

// The calendar has a panel for each database and a series for each kind; kinds beyond the available
// colours share one.
func TestFigures(t *testing.T) {
	many := run.Stalls{}
	for i := range 8 {
		kind := run.Overlap{Kind: string(rune('a' + i))}
		many.List = append(many.List, stall(time.Duration(i)*time.Second, time.Second, kind))
	}
	figures := (Half{}).Figures([]abilities.Column{{Name: "etcd", Runs: []*run.Run{of(six())}}, {Name: "consul", Runs: []*run.Run{of(many)}}})
	if len(figures) != 1 || !slices.Equal(figures[0].Panels, []string{"etcd", "consul"}) {
		t.Fatalf("figures %+v, want one with two panels", figures)
	}
	var names []string
	for _, s := range figures[0].Series {
		names = append(names, s.Name)
	}
	if want := []string{"snapshot", "nothing that was recorded", "a", "b", "c", "other events"}; !slices.Equal(names, want) {
		t.Errorf("series %q, want %q", names, want)
	}
	if s := figures[0].Series[0]; s.Details[0] != "coincided with snapshot (0.2 s, p 0.0001)" || s.Details[1] != "coincided with snapshot (0.2 s, p 0.0001), another leader (0.3 s)" {
		t.Errorf("the details of the first series are %q", s.Details)
	}
	if s := figures[0].Series[0]; len(s.X) != 5 || s.X[1] != 10 || s.Y[1] != 0.3 || !s.Loose {
		t.Errorf("the first series is %+v", s)
	}
	alone := (Half{}).Figures([]abilities.Column{{Name: "etcd", Runs: []*run.Run{of(six())}}})
	if len(alone) != 1 || len(alone[0].Panels) != 0 || alone[0].Series[0].Name != "snapshot" {
		t.Errorf("the figure of one database is %+v", alone)
	}
	if (Half{}).Figures([]abilities.Column{{Name: "etcd", Runs: []*run.Run{of(run.Stalls{})}}}) != nil {
		t.Error("a figure without stalls")
	}
}
