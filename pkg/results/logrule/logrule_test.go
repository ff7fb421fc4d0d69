package logrule

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/process/logfile"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// rules are for the line formats of three databases.
func rules() ([]declared.LogRule, []declared.LogTime) {
	return []declared.LogRule{
			{Event: "apply", Pattern: `"msg":"apply request took too long"`, Value: declared.JSONField("took"), Unit: declared.UnitText},
			{Event: "fsync", Pattern: `fsync-ing the write ahead log in .* took \d+ms`, Value: `took (\d+)ms`, Unit: "ms"},
			{Event: "large", Pattern: `large raft entry`, Value: `\(([0-9,]+) bytes\)`, Unit: "bytes"},
			{Event: "any raft", Pattern: `raft`},
		}, []declared.LogTime{
			{Pattern: `"ts":"([^"]+)"`, Layout: "2006-01-02T15:04:05Z0700"},
			{Pattern: `^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) `, Layout: "2006-01-02 15:04:05,000"},
			{Pattern: `^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d{6}) `, Layout: "0102 15:04:05.000000"},
		}
}

func matcher(t testing.TB) *Matcher {
	m, err := Compile(rules())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// event is what a test compares in a line.
type event struct {
	Line   int64
	Event  string
	Took   time.Duration
	Amount float64
	Unit   string
	At     string
	Cut    int64
}

func scan(t testing.TB, text string) (all []event) {
	t.Helper()
	err := matcher(t).Scan(strings.NewReader(text), 2026, func(l *Line) error {
		e := event{Line: l.Number, Event: l.Event, Took: l.Duration, Amount: l.Amount, Unit: l.Unit, Cut: l.Cut.Bytes}
		if !l.Time.IsZero() {
			e.At = l.Time.Format("2006-01-02T15:04:05.000000Z")
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []event
	}{
		{"nothing", "", nil},
		{"JSON", `{"level":"warn","ts":"2026-11-22T11:30:13.123456+0100","msg":"apply request took too long","took":"1.062s","expected-duration":"100ms"}`,
			[]event{{Line: 1, Event: "apply", Took: 1062 * time.Millisecond, At: "2026-11-22T10:30:13.123456Z"}}},
		{"a value that is none", `{"msg":"apply request took too long","took":"long"}`, []event{{Line: 1, Event: "apply"}}},
		{"a duration below 0", `{"msg":"apply request took too long","took":"-1s"}`, []event{{Line: 1, Event: "apply"}}},
		{"milliseconds, and a line without a time", "2026-11-22 10:30:13,123 INFO\nfsync-ing the write ahead log in SyncThread:1 took 22978ms which\r\n",
			[]event{{Line: 2, Event: "fsync", Took: 22978 * time.Millisecond, At: "2026-11-22T10:30:13.123000Z"}}},
		{"more milliseconds than a duration holds", "fsync-ing the write ahead log in SyncThread:1 took 99999999999999999999ms", []event{{Line: 1, Event: "fsync"}}},
		{"two rules, an amount, a time without a year", "I1122 10:30:13.000001 large raft entry (1,700,000 bytes)",
			[]event{{Line: 1, Event: "large", Amount: 1.7e6, Unit: "bytes", At: "2026-11-22T10:30:13.000001Z"}, {Line: 1, Event: "any raft", At: "2026-11-22T10:30:13.000001Z"}}},
		{"beyond the length of lines", strings.Repeat("x", maxLine) + " raft\nraft", []event{{Line: 2, Event: "any raft"}}},
		{"a cut", "a\n[dbtester: 70 bytes of this log were cut here; it continues at byte 90 of the file on its machine]\nraft",
			[]event{{Line: 2, Cut: 70}, {Line: 3, Event: "any raft"}}},
	} {
		if diff := cmp.Diff(tc.want, scan(t, tc.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestScanStops(t *testing.T) {
	t.Parallel()
	stop, n := errors.New("enough"), 0
	err := matcher(t).Scan(strings.NewReader("raft\nraft\nraft\n"), 0, func(*Line) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 2 {
		t.Errorf("the scan ended after %d events with %v, want 2 and %v", n, err, stop)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	l := Line{line: []byte("\x1b[31mred\x00\tand\xff" + strings.Repeat("y", 500))}
	text := l.Text()
	if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) || len(text) > maxText || !strings.HasPrefix(text, "[31mred  and?") {
		t.Errorf("text %q of %d bytes, want it printable and at most %d bytes", text, len(text), maxText)
	}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]declared.LogRule{
		"must have the name of an event":     {Pattern: "x"},
		"missing closing":                    {Event: "e", Pattern: "("},
		"value and unit":                     {Event: "e", Pattern: "x", Unit: "ms"},
		"must have one group, it has 2":      {Event: "e", Pattern: "x", Value: "(a)(b)", Unit: "ms"},
		`must have one group, it has 0`:      {Event: "e", Pattern: "x", Value: "a", Unit: "ms"},
		"invalid or unsupported Perl syntax": {Event: "e", Pattern: "(?=x)"},
	} {
		m, err := Compile([]declared.LogRule{r, {Event: "good", Pattern: "x"}}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || len(m.Match([]byte("x"))) != 1 {
			t.Errorf("rule %+v: error %v, want one with %q and the other rule kept", r, err, want)
		}
	}
	if _, err := Compile(nil, []declared.LogTime{{Pattern: "x", Layout: time.Kitchen}}); err == nil {
		t.Error("a time without a group must be an error")
	}
}

// Whatever a log holds, a scan ends, counts its lines, and yields values fit for records.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"level":"warn","ts":"2026-11-22T11:30:13.123456+0100","msg":"apply request took too long","took":"1.062s"}` + "\n"))
	f.Add([]byte("2026-11-22 10:30:13,123 WARN fsync-ing the write ahead log in SyncThread:1 took 22978ms which\nraft\r\n\r\n"))
	f.Add([]byte("I0229 10:30:13.000001 large raft entry (1e99 bytes)\n"))
	f.Add([]byte("[dbtester: 70 bytes of this log were cut here; it continues at byte 90 of the file on its machine]\n"))
	f.Add(bytes.Repeat([]byte("raft"), 10000))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(0)
		err := matcher(t).Scan(bytes.NewReader(data), 2026, func(l *Line) error {
			switch {
			case l.Number < last || l.Number > int64(bytes.Count(data, []byte("\n")))+1:
				t.Errorf("an event of line %d follows one of line %d", l.Number, last)
			case l.Duration < 0 || !(l.Amount >= 0 && l.Amount <= maxAmount):
				t.Errorf("%q gives %v and %v", l.line, l.Duration, l.Amount)
			case len(l.Text()) > maxText:
				t.Errorf("the text of line %d has %d bytes, want at most %d", l.Number, len(l.Text()), maxText)
			case (l.Event == "") != (l.Cut != logfile.Cut{}):
				t.Errorf("event %q with cut %+v, want one of them", l.Event, l.Cut)
			}
			last = l.Number
			return nil
		})
		if err != nil {
			t.Errorf("scan: %v", err)
		}
	})
}
