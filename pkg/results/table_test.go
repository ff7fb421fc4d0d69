package results

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestIntervalsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		latency := rapid.Custom(func(t *rapid.T) Latency {
			g := rapid.Int64Min(0)
			return Latency{g.Draw(t, "n"), g.Draw(t, "sum"), rapid.Float64Range(0, 1e300).Draw(t, "sq"), g.Draw(t, "min"),
				g.Draw(t, "max"), g.Draw(t, "p50"), g.Draw(t, "p90"), g.Draw(t, "p99"), g.Draw(t, "p999")}
		})
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Interval {
			i := testInterval(rapid.Int64().Draw(t, "second"), rapid.IntRange(0, 9).Draw(t, "step"))
			i.Phase = rapid.SampledFrom([]Phase{PhaseWarmUp, PhaseMeasure, PhaseCoolDown}).Draw(t, "phase")
			for _, tm := range Timings {
				for _, o := range workload.Outcomes {
					*i.Latency(tm, o) = latency.Draw(t, "latency")
				}
			}
			return i
		}), 1, 5).Draw(t, "rows")

		path := filepath.Join(dir, string(rune('a'+n%26))+time.Duration(n).String())
		w, err := NewIntervalWriter(path)
		if err != nil {
			t.Fatalf("make the file of intervals: %v", err)
		}
		for i := range want {
			if err := w.Write(want[i : i+1]); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatalf("close the writer: %v", err)
		}
		got, err := ReadIntervals(path)
		if err != nil {
			t.Fatalf("read the intervals: %v", err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows of %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("row %d is %+v, was %+v", i, got[i], want[i])
			}
		}
	})
}

func TestIntervalHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileIntervals)
	w, err := NewIntervalWriter(path)
	check(t, err)
	check(t, w.Close())
	header := mustRead(t, path)
	const begin = "second,step,phase,operation,clients,due,sent,ok,failed,unknown,shed,unsent,queued,late,backlog,in_flight,keys_cumulative," +
		"response_ok_count,response_ok_sum_ns,response_ok_sum_sq_ms2,response_ok_min_ns,response_ok_max_ns," +
		"response_ok_p50_ns,response_ok_p90_ns,response_ok_p99_ns,response_ok_p999_ns,response_failed_count,"
	if !strings.HasPrefix(header, begin) || !strings.HasSuffix(header, ",service_unknown_p999_ns,waiting_ns,client_gap_ns,written_bytes\n") {
		t.Errorf("header: %s", header)
	}
	if n := strings.Count(header, ",") + 1; n != 17+6*9+3 {
		t.Errorf("%d columns, want %d", n, 17+6*9+3)
	}
	rows, err := ReadIntervals(path)
	if err != nil || len(rows) != 0 {
		t.Errorf("a file without rows: %v, %v", rows, err)
	}
}

func TestErrorsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileErrors)
	want := []ErrorCount{
		{Second: 1795229506, Step: 1, Phase: PhaseMeasure, Operation: "write", Class: "time-out", Count: 3,
			FirstText: `put "k,1": context deadline exceeded`, FirstTime: epoch.Add(1234567)},
		{Second: 1795229507, Step: 1, Phase: PhaseWarmUp, Operation: "write", Class: "connection lost", Count: 1},
	}
	w, err := NewErrorWriter(path)
	check(t, err)
	check(t, w.Write(want))
	check(t, w.Write([]ErrorCount{{Class: "other", FirstText: "two\nlines\r\nthree"}}))
	check(t, w.Close())
	got, err := ReadErrors(path)
	check(t, err)
	diff(t, "errors", append(want, ErrorCount{Class: "other", FirstText: "two lines three"}), got)
	if n := strings.Count(mustRead(t, path), "\n"); n != 4 {
		t.Errorf("%d lines for a header and three rows", n)
	}
}

func TestEventsFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileEvents)
	w, err := NewEventWriter(path)
	check(t, err)
	var wg sync.WaitGroup
	for member := range 8 {
		wg.Go(func() {
			for n := range 50 {
				if err := w.Write(Event{Time: epoch.Add(time.Duration(n)), Kind: "child died", Member: member, Text: "a\n\"b\""}); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	check(t, w.Close())
	events, err := ReadEvents(path, 8)
	check(t, err)
	next := map[int]int{}
	for _, e := range events {
		want := Event{Time: epoch.Add(time.Duration(next[e.Member])), Kind: "child died", Member: e.Member, Text: "a\n\"b\""}
		diff(t, "event", want, e)
		next[e.Member]++
	}
	if len(events) != 400 {
		t.Errorf("%d events", len(events))
	}
}

const errorsHeader = "second,step,phase,operation,class,count,first_text,first_time\n"

func TestReadMalformed(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		rows          int
		want          string // the error, after the path
	}{
		{"not a number", errorsHeader + "1,0,measure,write,other,1,,\n2,0,measure,write,other,many,,\n", 1, `:3: count: "many" is not a whole number`},
		{"not a time", errorsHeader + "1,0,measure,write,other,1,,noon\n", 0, `:2: first_time: "noon" is not a time`},
		{"too few fields", errorsHeader + "1,0,measure\n", 0, ":2: wrong number of fields"},
		{"open quote", errorsHeader + "1,0,measure,write,\"other,1,,\n", 0, `:2: extraneous or missing " in quoted-field`},
		{"no such column", "second,step,phase,operation,class,count,first_text\n", 0, ":1: first_time: column is missing"},
		{"two files in one", errorsHeader + "1,0,measure,write,other,1,,\n" + errorsHeader, 1, ":3: second: the header again: two files were joined here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := mustWrite(t, filepath.Join(t.TempDir(), FileErrors), tc.content)
			rows, err := ReadErrors(path)
			if err == nil || err.Error() != path+tc.want {
				t.Errorf("error %v", err)
			}
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.File != path {
				t.Errorf("error %#v", err)
			}
			if len(rows) != tc.rows {
				t.Errorf("%d rows before it", len(rows))
			}
		})
	}
}

func TestReadTruncated(t *testing.T) {
	row := "1,0,measure,write,other,1,,\n"
	full := errorsHeader + row + row
	for cut := 0; cut <= len(full); cut++ {
		path := mustWrite(t, filepath.Join(t.TempDir(), FileErrors), full[:cut])
		rows, err := ReadErrors(path)
		whole := strings.Count(full[:cut], "\n")
		if want := max(whole-1, 0); len(rows) != want {
			t.Fatalf("cut at %d: %d rows instead of %d", cut, len(rows), want)
		}
		onLine := cut > 0 && full[cut-1] == '\n'
		if errors.Is(err, ErrTruncated) == onLine || (err != nil && !errors.Is(err, ErrTruncated)) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestReadEventsTruncatedAndMalformed(t *testing.T) {
	good := `{"time":"2026-11-21T08:00:00Z","kind":"start","member":1}` + "\n"
	path := mustWrite(t, filepath.Join(t.TempDir(), FileEvents), good+good[:20])
	events, err := ReadEvents(path, 3)
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("error %v", err)
	}
	diff(t, "events", []Event{{Time: epoch, Kind: "start", Member: 1}}, events)
	mustWrite(t, path, good+"{\n"+good)
	if events, err = ReadEvents(path, 3); len(events) != 1 || err == nil || !strings.HasPrefix(err.Error(), path+":2: ") {
		t.Errorf("%d events and %v", len(events), err)
	}
}

// Columns are found by name: in any order, with unknown columns between them.
func TestColumnsByName(t *testing.T) {
	path := mustWrite(t, filepath.Join(t.TempDir(), FileErrors),
		"new,count,class,second,step,phase,operation,first_time,first_text\nx,4,other,9,2,measure,read,,why\n")
	got, err := ReadErrors(path)
	check(t, err)
	diff(t, "errors", []ErrorCount{{Second: 9, Step: 2, Phase: PhaseMeasure, Operation: "read", Class: "other", Count: 4, FirstText: "why"}}, got)
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nothing")
	_, err := ReadIntervals(path)
	_, events := ReadEvents(path, 3)
	for _, err := range []error{err, events} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v", err)
		}
	}
}
