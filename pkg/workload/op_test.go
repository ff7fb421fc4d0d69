package workload

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProperties: the properties of each operation agree.
func TestProperties(t *testing.T) {
	for _, op := range Ops() {
		switch {
		case !op.Known():
			t.Errorf("%s is listed and must be known", op)
		case op.OfSessions():
			if op.Creates() || op.NeedsKey() || op.Reads() || op.SendsValue() || op.Deletes() || op.Guarded() {
				t.Errorf("%s takes sessions, so it must have no property of keys, got %+v", op, op.properties())
			}
		case op.Sessions() != 0 || op.NeedsSession():
			t.Errorf("%s takes keys, so it must neither begin nor need a session", op)
		case op.Locks():
			if op.Creates() || op.NeedsKey() || !op.ChoosesKey() || op.Reads() || op.SendsValue() || op.Deletes() || op.Guarded() {
				t.Errorf("%s takes names alone, so it must have no property of keys that exist, got %+v", op, op.properties())
			}
		case op.Creates() == op.NeedsKey():
			t.Errorf("%s must either create a key or need one, got %v and %v", op, op.Creates(), op.NeedsKey())
		case op.Creates() && (op.Reads() || op.Deletes()), op.Creates() && !op.SendsValue():
			t.Errorf("%s creates keys, so it must send a value and neither read nor delete", op)
		case op.Ranges() && !op.Reads():
			t.Errorf("%s returns several keys, so it must read", op)
		}
	}
	if op := Op("unheard-of"); op.Known() || op.Creates() || op.NeedsKey() || op.Reads() || op.Ranges() || op.SendsValue() || op.Deletes() {
		t.Errorf("an unknown operation must have no property, got %+v", op.properties())
	}
	if OpGrant.NeedsSession() || !OpKeepAlive.NeedsSession() || !OpRevoke.NeedsSession() {
		t.Error("keepalive and revoke must need a session, and grant none")
	}
	if op := OpSwap; !op.NeedsKey() || !op.Reads() || !op.SendsValue() || op.Ranges() || op.Deletes() {
		t.Errorf("swap must need a key, read and send a value, got %+v", op.properties())
	}
}

// TestDocumented: the operation table in docs/workloads.md has a row for each, which shows whether
// it reads and whether it takes an existing key.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/workloads.md")
	if err != nil {
		t.Fatalf("read the documentation of workloads: %v", err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Operations\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, op := range Ops() {
		row := regexp.MustCompile("(?m)^\\| `" + string(op) + "` \\|.*$").FindString(section)
		if existing := strings.Contains(row, "an existing key"); row == "" || strings.HasSuffix(row, "| yes |") != op.Reads() || existing != op.NeedsKey() {
			t.Errorf("the row of %s must agree with reads = %v and needs a key = %v, got %q", op, op.Reads(), op.NeedsKey(), row)
		}
	}
}

// TestListsAreCopies: a caller that changes a list changes only its own copy.
func TestListsAreCopies(t *testing.T) {
	Ops()[0], KeyLaws()[0], Arrivals()[0], Backlogs()[0] = "", "", "", ""
	Workloads()[0].Mix[0].Operation = ""
	l := Load{Extent: Extent{Steps: []Step{{Clients: 1}}}, Content: Content{Mix: []Share{{OpRead, 1}}}}
	l.Stretches()[0].Clients, l.Shares()[0].Operation = 9, ""
	all := fmt.Sprint(Ops()[0], KeyLaws()[0], Arrivals()[0], Backlogs()[0], Workloads()[0].Mix[0].Operation, l.Steps[0].Clients, l.Mix[0].Operation)
	if want := fmt.Sprint(OpWrite, KeysSequential, ArrivalConstant, BacklogKeep, OpRead, 1, OpRead); all != want {
		t.Errorf("got %s, want %s", all, want)
	}
}

// TestCheckMix: every problem is reported with its share.
func TestCheckMix(t *testing.T) {
	for _, test := range []struct {
		name string
		mix  []Share
		want []MixProblem
	}{
		{"good", []Share{{OpRead, 0.999}, {OpWrite, 0.001}}, nil},
		{"empty", nil, []MixProblem{{-1, "it names no operation"}}},
		{"too many", make([]Share, 9), []MixProblem{{-1, "9 operations are more than the 8 that a load keeps apart"}}},
		{"weights", []Share{{OpRead, -1}, {OpWrite, 2e9}}, []MixProblem{
			{0, "the weight of read must be over 0 and at most 1e9, got -1"}, {1, "the weight of write must be over 0 and at most 1e9, got 2e+09"}}},
		{"twice", []Share{{OpRead, 1}, {OpRead, 1}}, []MixProblem{{1, "read is given twice"}}},
		{"too little", []Share{{OpRead, 1}, {OpWrite, 1e-6}}, []MixProblem{{1, "write is less than a thousandth of the load"}}},
	} {
		if diff := cmp.Diff(test.want, CheckMix(test.mix)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestCheckStep: the error names the field and the value.
func TestCheckStep(t *testing.T) {
	good := Step{Clients: 1, Requests: 1}
	for want, change := range map[string]func(*Step){
		"":                                  func(*Step) {},
		"clients must be at least 1, got 0": func(s *Step) { s.Clients = 0 },
		"requests or a duration must be positive, got 0 and 0s":                               func(s *Step) { s.Requests = 0 },
		"rates must not be negative, got -2 requests per second":                              func(s *Step) { s.Rate = -2 },
		"a changing rate needs a first rate and a duration, got 0 requests per second for 0s": func(s *Step) { s.RateEnd = 5 },
		"a ramp of clients needs a closed loop, got a rate of 7 requests per second":          func(s *Step) { s.Rate, s.Ramp = 7, 1 },
	} {
		s := good
		change(&s)
		got := ""
		if err := s.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
