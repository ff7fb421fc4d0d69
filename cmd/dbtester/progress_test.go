package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// second is the progress of a load after n seconds with 100 requests each.
func second(n int64) control.Update {
	p := load.Progress{
		Elapsed: time.Duration(n) * time.Second, Done: 100 * n, Ended: 100, Offered: 100, Span: time.Second,
		P50: 1500 * time.Microsecond, P99: 2 * time.Second,
	}
	p.Step.Clients = 1
	return control.Update{Tag: "etcd", Trial: 1, Trials: 1, Load: &p, Total: 2000}
}

// If lines cannot be overwritten, there is one every five seconds.
func TestProgressInFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		p.report(control.Update{Tag: "etcd", Text: "load", Step: true})
		for n := range int64(12) {
			time.Sleep(time.Second)
			p.report(second(n + 1))
		}
		p.report(control.Update{Tag: "etcd", Text: "stop members"})
		p.end()
		want := `[   0s] etcd: load
[   1s] etcd: 1 client, 100/2,000 requests, last second: 100/s p50 1.50ms p99 2.00s, 0 errors, 19s left
[   6s] etcd: 1 client, 600/2,000 requests, last second: 100/s p50 1.50ms p99 2.00s, 0 errors, 14s left
[  11s] etcd: 1 client, 1,100/2,000 requests, last second: 100/s p50 1.50ms p99 2.00s, 0 errors, 9s left
[  12s] etcd: stop members
`
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// The line ends with the known facts about the member machines.
func TestProgressOfServers(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
	p.servers = func() string { return "members 85/40 % of a core" }
	p.report(second(1))
	if want := ", 19s left; members 85/40 % of a core\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want %q at its end", out.String(), want)
	}
}

// The line has the step number if there are several.
func TestProgressOfStep(t *testing.T) {
	var out bytes.Buffer
	u := second(1)
	u.Load.Step.Index, u.Steps = 1, make([]workload.Step, 5)
	newProgress(&out, false).report(u)
	if want := "etcd: step 2/5, 1 client, 100/2,000 requests"; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}

// On a terminal there is one line, never wider than the terminal, which is erased before
// the next.
func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		p.columns = func() int { return 40 }
		for n := range int64(3) {
			time.Sleep(time.Second)
			p.report(second(n + 1))
		}
		p.report(control.Update{Tag: "etcd", Text: "stop members"})
		erase := "\r" + strings.Repeat(" ", 39) + "\r"
		want := "[   1s] etcd: 1 client, 100/2,000 reque" + erase +
			"[   2s] etcd: 1 client, 200/2,000 reque" + erase +
			"[   3s] etcd: 1 client, 300/2,000 reque" + erase +
			"[   3s] etcd: stop members\n"
		if got := out.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// On a terminal a step is in the one rewritten line. Events stay, and with --verbose steps do too.
func TestProgressSteps(t *testing.T) {
	show := func(verbose bool) string {
		var out bytes.Buffer
		p := newProgress(&out, verbose)
		p.columns = func() int { return 80 }
		p.report(control.Update{Tag: "etcd", Text: "open records", Step: true})
		p.report(control.Update{Tag: "etcd", Text: "start members\nof 3.6", Step: true})
		p.report(control.Update{Tag: "etcd", Text: "member 2 is lost"})
		p.report(second(1))
		p.report(control.Update{Tag: "etcd", Text: "stop members", Step: true})
		p.end()
		return out.String()
	}
	rest := func(out string) string { // text that stays on the terminal
		var kept strings.Builder
		for _, line := range strings.SplitAfter(out, "\n") {
			kept.WriteString(line[strings.LastIndex(line, "\r")+1:])
		}
		return kept.String()
	}
	const event = "[   0s] etcd: member 2 is lost\n"
	brief := show(false)
	if got := rest(brief); got != event {
		t.Errorf("%q stays on the terminal, want %q of %q", got, event, brief)
	}
	for _, step := range []string{"open records", "start members of 3.6", "1 client", "stop members"} {
		if !strings.Contains(brief, "[   0s] etcd: "+step) {
			t.Errorf("no %q was shown: %q", step, brief)
		}
	}
	want := "[   0s] etcd: open records\n[   0s] etcd: start members\nof 3.6\n" + event + "[   0s] etcd: stop members\n"
	if got := rest(show(true)); got != want {
		t.Errorf("with --verbose %q stays on the terminal, want %q", got, want)
	}
}

// Messages between two seconds in a step do not change the total length of the steps; another
// database or trial starts over.
func TestProgressLeft(t *testing.T) {
	at := func(trial int, tag string, step int, elapsed time.Duration) control.Update {
		u := second(1)
		u.Trial, u.Trials, u.Tag, u.Total, u.Duration = trial, 2, tag, 0, 18*time.Second
		u.Load.Step.Index, u.Load.Elapsed = step, elapsed
		return u
	}
	text := func(u control.Update) control.Update {
		return control.Update{Trial: u.Trial, Trials: 2, Tag: u.Tag, Text: "member 2 is lost"}
	}
	var out bytes.Buffer
	p := newProgress(&out, false)
	p.columns = func() int { return 200 }
	for _, tt := range []struct {
		u    control.Update
		left time.Duration
	}{
		{at(1, "etcd", 0, 6*time.Second), 12 * time.Second},
		{at(1, "etcd", 1, 2*time.Second), 10 * time.Second},
		{at(1, "etcd", 1, 6*time.Second), 6 * time.Second},
		{at(1, "etcd", 2, 1*time.Second), 5 * time.Second},
		{at(1, "consul", 0, 1*time.Second), 17 * time.Second},
		{at(2, "consul", 0, 1*time.Second), 17 * time.Second},
		{at(2, "consul", 0, 7*time.Second), 11 * time.Second},
		{at(2, "consul", 0, 1*time.Second), 10 * time.Second}, // the next hold
	} {
		out.Reset()
		p.report(tt.u)
		if want := fmt.Sprintf(", %v left", tt.left); !strings.Contains(out.String(), want) {
			t.Errorf("trial %d, %s, step %d: no %q in %q", tt.u.Trial, tt.u.Tag, tt.u.Load.Step.Index, want, out.String())
		}
		p.report(text(tt.u))
	}
}

// A second in which a step began or ended shows the rate in the step, not in the whole second.
func TestProgressPart(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
	u := second(1)
	u.Load.Ended, u.Load.Span = 900, 450*time.Millisecond
	p.report(u)
	if want := "last second: 2,000/s "; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %q: 900 requests in 450 ms", want, out.String())
	}
}
