package control

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// journal is how a run reports: events go to the records, texts and progress to [Options.Report].
// Its methods are safe for concurrent use after open.
type journal struct {
	report func(Update)
	about  Update // the trial and the tag in every update
	// happened receives the events; nil discards them.
	happened func(Happened)
	log      *slog.Logger
	events   *results.EventWriter // nil before open
	text     *textLog             // nil before openText
}

// open creates the event file.
func (j *journal) open(file string) (err error) {
	j.events, err = results.NewEventWriter(file)
	return err
}

// close ends the event file.
func (j *journal) close() error {
	if j.events == nil {
		return nil
	}
	return j.events.Close()
}

// event records an event now; member -1 is the whole cluster. If an event cannot be written, it is
// logged and does not fail the run.
func (j *journal) event(kind string, member int, text string) {
	j.eventAt(time.Now(), kind, member, text)
}

// eventAt records an event at the given time.
func (j *journal) eventAt(at time.Time, kind string, member int, text string) {
	j.record(results.Event{Time: at.UTC(), Kind: kind, Member: member, Text: text})
}

// record records an event.
func (j *journal) record(e results.Event) {
	if j.happened != nil {
		j.happened(Happened{Trial: j.about.Trial, Tag: j.about.Tag, Event: e})
	}
	if j.events == nil {
		return
	}
	if err := j.events.Write(e); err != nil {
		j.log.Warn("an event was not recorded", "kind", e.Kind, "error", err)
	}
}

// say reports an event.
func (j *journal) say(format string, args ...any) {
	j.update(Update{Text: fmt.Sprintf(format, args...)})
}

// step reports the beginning or the progress of a step.
func (j *journal) step(format string, args ...any) {
	j.update(Update{Text: fmt.Sprintf(format, args...), Step: true})
}

// update reports an update on this run.
func (j *journal) update(u Update) {
	u.Trial, u.Trials, u.Tag = j.about.Trial, j.about.Trials, j.about.Tag
	j.text.update(u)
	j.report(u)
}

// textLog is a log for people: one timed line for each update. It lies among the run records. A nil
// log discards.
type textLog struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first write error; the log ends there
}

func openTextLog(path string) (*textLog, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open control's log: %w", err)
	}
	return &textLog{file: f}, nil
}

// update writes u as a line.
func (l *textLog) update(u Update) {
	if l == nil {
		return
	}
	text := u.Text
	if p := u.Load; p != nil {
		text = fmt.Sprintf("load: step %d, clients %d, done %d, in this second %d, errors %d", p.Step.Index+1, p.Step.Clients, p.Done, p.Ended, p.Errors)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// close ends the log.
func (l *textLog) close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, l.file.Close()); err != nil {
		return fmt.Errorf("write control's log: %w", err)
	}
	return nil
}
