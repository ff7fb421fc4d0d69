package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Every format has the marks that weaken the runs, one line for each code.
func TestMarks(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1000, 1001, 1002)
	add := func(s Side, i int, code, text string) {
		record := s.Runs[i].Run.Info.Record
		record.Validity = append(record.Validity, results.Mark{Code: code, Text: text})
	}
	add(a, 1, mark.OtherLoad, "others used 14 % of the processors")
	add(b, 0, mark.OtherLoad, "others used 37 % of the processors")
	add(b, 2, mark.NotDurable, "member 1: tmpfs")
	add(b, 2, mark.OtherLoad, "others used 15.5 % of the processors")
	r := compared(t, a, b)
	at := slices.IndexFunc(r.Marks, func(m Marked) bool { return m.Code == mark.OtherLoad })
	if at < 0 {
		t.Fatalf("no mark of other load among %q", r.Marks)
	}
	want := "other load: 3 of 6 runs (A2, B1, B3), the worst B1: others used 37 % of the processors"
	if got := r.Marks[at].String(); got != want {
		t.Errorf("the merged mark is %q, want %q", got, want)
	}
	for name, format := range Formats() {
		text, err := format(r)
		if err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		if name == "benchstat" { // which has values alone
			continue
		}
		for _, part := range []string{"others used 37 % of the processors", "not durable"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q:\n%s", name, part, text)
			}
		}
	}
}

// The worst mark is found by its values, whatever its text is.
func TestWorstByValues(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001), side("B", 60, 1, 1000, 1001)
	moved := func(s Side, seconds float64) {
		record := s.Runs[0].Run.Info.Record
		record.Validity = append(record.Validity, results.NewMark(mark.Clock, false, mark.Values{"member": 1, "moved_seconds": seconds, "bound_seconds": .1}, nil))
	}
	moved(a, .9)
	moved(b, 70)
	r := compared(t, a, b)
	at := slices.IndexFunc(r.Marks, func(m Marked) bool { return m.Code == mark.Clock })
	if at < 0 || r.Marks[at].Worst != "B1" || !strings.Contains(r.Marks[at].Text, "1.2 min") {
		t.Errorf("the worst is of B1 with 1.2 min, got %q", r.Marks)
	}
}

// Two labels for one release are one program, which is stated.
func TestOneProgram(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001), side("B", 60, 1, 1000, 1001)
	const note = "A and B ran the same program: "
	hash := func(s Side, hash string) {
		for _, r := range s.Runs {
			r.Run.Info.Record.Members = []results.Member{{Release: &results.Release{Name: "etcd", SHA256: map[string]string{"etcd": hash}}}}
		}
	}
	if hash(a, "aa"); strings.Contains(compared(t, a, b).Text(), note) {
		t.Error("a program that was not hashed is the same")
	}
	if hash(b, "aa"); !strings.Contains(compared(t, a, b).Text(), note+"etcd, etcd sha256 aa") {
		t.Errorf("want %q in\n%s", note, compared(t, a, b).Text())
	}
	if hash(b, "bb"); strings.Contains(compared(t, a, b).Text(), note) {
		t.Error("two programs are the same")
	}
}
