package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"golang.org/x/term"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// progress shows how far a run is. On a terminal it rewrites one line, and prints a line for each
// event. Elsewhere it also prints a line for each step in the run, and one for the load every
// plainEvery.
type progress struct {
	out     io.Writer
	columns func() int    // on the terminal; nil if out is not a terminal
	verbose bool          // a line for each step on a terminal too
	servers func() string // known facts about the member machines; nil or "" for nothing
	started time.Time

	mu    sync.Mutex
	width int // width of the current line on the terminal
	last  time.Time
	load  loadOf        // shown now
	steps float64       // seconds of its finished steps
	step  int           // current step
	prev  time.Duration // elapsed in the current step
}

// loadOf identifies the load on one database in one trial.
type loadOf struct {
	trial int
	tag   string
}

// plainEvery is the interval between lines if out is not a terminal.
const plainEvery = 5 * time.Second

func newProgress(out io.Writer, verbose bool) *progress {
	p := &progress{out: out, verbose: verbose, started: time.Now()}
	if f, ok := out.(*os.File); ok && isTerminal(out) {
		p.columns = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil || width == 0 {
				return 80
			}
			return width
		}
	}
	return p
}

// report shows one update; control calls it, from any goroutine.
func (p *progress) report(u control.Update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Load == nil {
		p.text(u)
		return
	}
	now := time.Now()
	// Other messages during a load (a lost member, for example) do not reset it.
	if load := (loadOf{u.Trial, u.Tag}); load != p.load {
		p.load, p.steps, p.prev, p.step = load, 0, 0, u.Load.Step.Index
	}
	if u.Load.Step.Index != p.step || u.Load.Elapsed < p.prev { // holds share a number
		p.steps += p.prev.Seconds()
		p.step = u.Load.Step.Index
	}
	p.prev = u.Load.Elapsed
	if u.Load.PerSecond(1) == 0 { // too short to be shown
		return
	}
	line := p.prefix(u) + p.line(u)
	if p.columns != nil {
		p.rewrite(line)
		return
	}
	if now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprintln(p.out, line)
	}
}

// text shows a step or an event.
func (p *progress) text(u control.Update) {
	line := p.prefix(u) + plaintext.Visible(u.Text)
	if u.Step && p.columns != nil && !p.verbose {
		p.rewrite(strings.ReplaceAll(line, "\n", " "))
		return
	}
	p.clear()
	fmt.Fprintln(p.out, line)
}

// rewrite replaces the line on the terminal.
func (p *progress) rewrite(line string) {
	p.clear()
	shown := []rune(line)
	shown = shown[:min(len(shown), p.columns()-1)] // a wrapped line cannot be cleared
	fmt.Fprint(p.out, string(shown))
	p.width = len(shown)
}

func (p *progress) prefix(u control.Update) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%4.0fs] ", time.Since(p.started).Seconds())
	if u.Trials > 1 {
		fmt.Fprintf(&b, "trial %d/%d ", u.Trial, u.Trials)
	}
	if u.Tag != "" {
		fmt.Fprintf(&b, "%s: ", u.Tag)
	}
	return b.String()
}

// line describes one second of a load.
func (p *progress) line(u control.Update) string {
	l := u.Load
	var b strings.Builder
	if n := len(u.Steps); n > 1 {
		fmt.Fprintf(&b, "step %d/%d, ", l.Step.Index+1, n)
	}
	fmt.Fprintf(&b, "%s, %s", english.Plural(l.Step.Clients, "client", ""), humanize.Comma(l.Done))
	if u.Total > 0 {
		fmt.Fprintf(&b, "/%s", humanize.Comma(u.Total))
	}
	if l.Step.Rate > 0 {
		fmt.Fprintf(&b, " requests, last second: offered %s/s, done %s/s", humanize.Comma(l.PerSecond(l.Offered)), humanize.Comma(l.PerSecond(l.Ended)))
	} else {
		fmt.Fprintf(&b, " requests, last second: %s/s", humanize.Comma(l.PerSecond(l.Ended)))
	}
	if l.P50 > 0 {
		fmt.Fprintf(&b, " p50 %s p99 %s", short(l.P50), short(l.P99))
	}
	fmt.Fprintf(&b, ", %s errors", humanize.Comma(l.Errors))
	if l.Declined > 0 {
		fmt.Fprintf(&b, ", %s declined", humanize.Comma(l.Declined))
	}
	if left := p.left(u); left > 0 {
		fmt.Fprintf(&b, ", %v left", left.Round(time.Second))
	}
	if p.servers != nil {
		if text := p.servers(); text != "" {
			fmt.Fprintf(&b, "; %s", text)
		}
	}
	return b.String()
}

// left estimates the remaining time of the load; 0 means unknown.
func (p *progress) left(u control.Update) time.Duration {
	spent := p.steps + u.Load.Elapsed.Seconds()
	switch {
	case u.Duration > 0:
		return u.Duration - time.Duration(spent*float64(time.Second))
	case u.Total > 0 && u.Load.Done > 0:
		return time.Duration(spent * float64(u.Total-u.Load.Done) / float64(u.Load.Done) * float64(time.Second))
	default:
		return 0
	}
}

// short formats a latency with three or four digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dus", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.2fms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
}

// clear erases the line on the terminal.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}

// end leaves the terminal clean.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
