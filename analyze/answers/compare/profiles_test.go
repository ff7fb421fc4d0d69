package compare

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/results"
)

// profileOf returns a CPU profile with functions and their milliseconds.
func profileOf(functions ...any) []byte {
	number := func(at protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, at, protowire.VarintType), v)
	}
	part := func(at protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, at, protowire.BytesType), bytes.Join(parts, nil))
	}
	all := bytes.Join([][]byte{part(6), part(6, []byte("cpu")), part(6, []byte("nanoseconds")), part(1, number(1, 1), number(2, 2))}, nil)
	for i := 0; i+1 < len(functions); i += 2 {
		id := uint64(i/2 + 1)
		all = append(all, part(6, []byte(functions[i].(string)))...)
		all = append(all, part(5, number(1, id), number(2, id+2))...)
		all = append(all, part(4, number(1, id), part(4, number(1, id)))...)
		all = append(all, part(2, number(1, id), number(2, uint64(functions[i+1].(int))*1_000_000))...)
	}
	return all
}

// setProfiles records the profiles of a member.
func setProfiles(t *testing.T, m *results.Member, profiles ...profile.Profile) {
	t.Helper()
	if err := profile.Record().Set(&m.Records, profiles); err != nil {
		t.Fatal(err)
	}
}

// profiledDocument has the fields for programs about profiles.
type profiledDocument struct {
	Profiles *struct {
		ProfilesA int `json:"profiles_a"`
		ProfilesB int `json:"profiles_b"`
		All       struct {
			A float64 `json:"a_us_per_request"`
			B float64 `json:"b_us_per_request"`
		}
		Functions []struct {
			Name string
			A    float64 `json:"a_us_per_request"`
			B    float64 `json:"b_us_per_request"`
		}
	}
}

// documentOf reads the report for programs.
func documentOf(t *testing.T, r *Report) (d profiledDocument) {
	t.Helper()
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// profiled gives every run on a side two members with the profile, which begins in the middle of a
// second. All seconds have the throughput of the first step.
func profiled(t *testing.T, s Side, content []byte) {
	t.Helper()
	for i := range s.Runs {
		r := &s.Runs[i]
		r.Folder = t.TempDir()
		record := r.Run.Info.Record
		for n := range 4 {
			r.Run.Load.Seconds = append(r.Run.Load.Seconds, run.Second{Unix: record.LoadStart.Unix() + int64(n), OK: r.Run.Stages[0].Throughput.Average.Value})
		}
		record.Members = make([]results.Member, 2)
		for m := range record.Members {
			name := []string{"profiles/1-cpu.pprof", "profiles/2-cpu.pprof"}[m]
			record.Members[m].Records = nil
			setProfiles(t, &record.Members[m], profile.Profile{Kind: "cpu", File: name, Start: record.LoadStart.Add(500 * time.Millisecond), Length: 2 * time.Second})
			path := filepath.Join(r.Folder, record.Tag, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatalf("make the folder: %v", err)
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatalf("write the profile: %v", err)
			}
		}
	}
}

// TestProfiles: functions are listed side by side in microseconds for each request, those that
// differ most first.
func TestProfiles(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1000), side("B", 60, 1, 500, 500)
	profiled(t, a, profileOf("raft.Step", 100, "bbolt.put", 50))
	profiled(t, b, profileOf("raft.Step", 50, "slow.New", 75))
	r := compared(t, a, b)
	text := r.Text()
	// Two members with 100 ms each in 2 s at 1,000/s are 100 us a request.
	at := strings.Index(text, "|      function |")
	if at < 0 {
		t.Fatalf("no table of functions:\n%s", text)
	}
	var rows []string
	for line := range strings.Lines(text[at:]) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Join(strings.Fields(strings.ReplaceAll(line, "|", " ")), " "))
		}
	}
	want := []string{"function A B difference", "all functions 150 250 +100", "slow.New 0 150 +150", "bbolt.put 50 0 -50", "raft.Step 100 100 +0"}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("functions:\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if md := r.Markdown(); !strings.Contains(md, "| slow.New | 0 | 150 | +150 |") {
		t.Errorf("Markdown has no row of a function:\n%s", md)
	}
	d := documentOf(t, r).Profiles
	if d == nil || d.ProfilesA != 4 || d.Functions[0].Name != "slow.New" || d.Functions[0].A != 0 || d.Functions[0].B != 150 {
		t.Errorf("JSON has the profiles %+v, want slow.New first and four of A", d)
	}
}

// TestProfilesOfSteps: requests are counted over the time of the profile, whatever steps it is in.
func TestProfilesOfSteps(t *testing.T) {
	a, b := side("A", 0, 1, 1000), side("B", 60, 1, 1000)
	profiled(t, a, profileOf("raft.Step", 100))
	profiled(t, b, profileOf("raft.Step", 100))
	for i := range b.Runs[0].Run.Load.Seconds[1:] {
		b.Runs[0].Run.Load.Seconds[i+1].OK = 3000
	}
	// 500 requests from the first second, 3,000 from the next one and 1,500 from the one after it.
	if d := documentOf(t, compared(t, a, b)).Profiles; d == nil || d.All.A != 100 || d.All.B != 40 {
		t.Errorf("the profiles are %+v, want 100 us a request of A and 40 us of B", d)
	}
	r, err := compareSides(byCapacity(), searched(a), searched(b))
	if err != nil {
		t.Fatalf("compare the searches: %v", err)
	}
	if len(r.others) > 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "the profiles of B1 are not used: a search") {
		t.Errorf("the profiles of a search are %+v with the notes %q, want them left out with a note", r.others, r.Notes)
	}
}

// TestSignedNumbers: large numbers are not written as powers of 10.
func TestSignedNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "+0", -1e-12: "+0", .0123: "+0.0123", -12.34: "-12.3", 99.96: "+100", 1234.5: "+1234", -98765: "-98765"} {
		if got := signedNumber(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// TestSomeProfiles: profiles that cannot be compared are left out with a note.
func TestSomeProfiles(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1000), side("B", 60, 1, 500, 500)
	if r := compared(t, a, b); len(r.others) > 0 {
		t.Error("there are profiles of runs that have none")
	}
	profiled(t, a, profileOf("raft.Step", 100))
	if r := compared(t, a, b); len(r.others) > 0 {
		t.Error("there are profiles, though B has none")
	}
	for i := range a.Runs {
		a.Runs[i].Run.Load.Seconds = nil
	}
	if r := compared(t, a, b); len(r.others) > 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "the profiles of A2 are not used: no request") {
		t.Errorf("the notes %q, want those on profiles that are not shown", r.Notes)
	}
	profiled(t, a, profileOf("raft.Step", 100))
	profiled(t, b, profileOf("raft.Step", 100))
	setProfiles(t, &b.Runs[1].Run.Info.Record.Members[1])
	setProfiles(t, &a.Runs[0].Run.Info.Record.Members[1], profile.Profile{Kind: "cpu", File: "profiles/none.pprof"})
	r := compared(t, a, b)
	notes := strings.Join(r.Notes, "\n")
	if d := documentOf(t, r).Profiles; d == nil || d.ProfilesA != 2 || d.ProfilesB != 2 {
		t.Fatalf("the profiles are %+v, want those of one run of each side", d)
	}
	for _, want := range []string{"the profiles of A1 are not used", "the profiles of B2 are not used: there must be one profile for each of the 2 members, got 1"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}
