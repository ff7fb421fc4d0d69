package control

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// journal is how a run reports: events go to the records, texts and progress to
// [Options.Report]. Its methods are safe for concurrent use after open.
type journal struct {
	report func(Update)
	about  Update // the trial and the tag of every update
	log    *slog.Logger
	events *results.EventWriter // nil before open
}

// open begins the file of events.
func (j *journal) open(file string) (err error) {
	j.events, err = results.NewEventWriter(file)
	return err
}

// close ends the file of events.
func (j *journal) close() error {
	if j.events == nil {
		return nil
	}
	return j.events.Close()
}

// event records that something happened; member -1 is the whole cluster. An event
// that cannot be written is logged and does not fail the run.
func (j *journal) event(kind string, member int, text string) {
	j.eventAt(time.Now(), kind, member, text)
}

// eventAt records that something happened at a time.
func (j *journal) eventAt(at time.Time, kind string, member int, text string) {
	if j.events == nil {
		return
	}
	if err := j.events.Write(results.Event{Time: at.UTC(), Kind: kind, Member: member, Text: text}); err != nil {
		j.log.Warn("an event was not recorded", "kind", kind, "error", err)
	}
}

// say reports one line.
func (j *journal) say(format string, args ...any) {
	j.update(Update{Text: fmt.Sprintf(format, args...)})
}

// update reports an update of this run.
func (j *journal) update(u Update) {
	u.Trial, u.Trials, u.Tag = j.about.Trial, j.about.Trials, j.about.Tag
	j.report(u)
}
