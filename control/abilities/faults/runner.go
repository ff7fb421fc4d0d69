package faults

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

// Runner applies the faults in a load.
type Runner struct {
	run    *abilities.Run
	plan   []faults.Due
	prober *prober // nil without probes
	repeat faults.Repeat
	// follow follows the load for repeats that wait for it and for connections that fail back; nil
	// without either. missing counts repeats that did not begin.
	follow  *follow
	missing int

	// interrupted reports whether the run ended before the load.
	interrupted bool

	mu       sync.Mutex
	happened []faults.Happened
	upgrades map[int]faults.Upgrade // by member, from 0
	undos    *faults.UndoFile       // nil before the first command
}

// oneLine returns the text of err without line breaks, "" for nil.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return plaintext.Joined(err.Error())
}

// over records that h is over.
func (r *Runner) over(h faults.Happened) { r.overAt(h, time.Now().UTC()) }

// overAt records that h was over at the given time.
func (r *Runner) overAt(h faults.Happened, at time.Time) {
	h.To = at
	r.run.Event(results.Event{Time: h.To, Kind: faults.EventOver, Member: h.Member, Text: cmp.Or(h.Failed, h.SawOver, "nothing to undo")})
	what := h.Kind
	if h.Member >= 0 {
		what += fmt.Sprintf(" of member %d", h.Member+1)
	}
	r.run.Step("fault over: %s: %s", what, cmp.Or(h.Failed, h.SawOver, "nothing to undo"))
	r.note(h)
}

func (r *Runner) note(h faults.Happened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.happened = append(r.happened, h)
}

func lasting(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(" for %v", d)
}

// follow follows the load for repeats that wait for it.
type follow struct {
	live *recovery.Live
	// length is the duration of the load, 0 if not known.
	length time.Duration
}

// prober writes to every member over its own connections, like clients that have just connected. It
// leaves no keys behind.
type prober struct {
	run   *abilities.Run
	every time.Duration

	members []*memberProber

	mu   sync.Mutex
	rows []faults.Probe // not written yet
	errs []error
	left int64 // keys that may not be removed
}

// memberProber probes one member.
type memberProber struct {
	*prober
	member int

	mu   sync.Mutex
	idle []database.Client
}
