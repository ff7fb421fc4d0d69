// Package membermetrics reads the metrics that members report about themselves, on running clusters
// without agents.
package membermetrics

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/member/scrape"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// patience bounds an answer. Members may be far away, and only this package waits for them.
const patience = 2 * time.Second

// Half reads member metrics before the load, at the end of the warm-up, at intervals and after the
// load. An unanswered request is a mark and does not fail the run.
type Half struct {
	run     *abilities.Run
	plan    membermetrics.Plan
	members []*member // empty if nothing is read
}

var (
	_ abilities.Activity  = (*Half)(nil)
	_ abilities.Preparer  = (*Half)(nil)
	_ abilities.Recorder  = (*Half)(nil)
	_ abilities.Describer = (*Half)(nil)
)

// New returns the half for r.
func New(r *abilities.Run) *Half {
	h := &Half{run: r}
	if r.Experiment.Metrics {
		h.plan = membermetrics.Keys().Of(r.DB.Abilities)
	}
	return h
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "read the members' own metrics" }

// Describe states where members are asked, and the interval.
func (h *Half) Describe() []string {
	sources, err := h.sources()
	if len(sources) == 0 || err != nil {
		return nil
	}
	var at []string
	for _, s := range sources {
		if s.URL != "" {
			at = append(at, s.URL)
		} else {
			at = append(at, s.Command+" to "+s.Address)
		}
	}
	return []string{fmt.Sprintf("read the members' own metrics every %v: %s", h.plan.Every, strings.Join(at, ", "))}
}

// sources returns where the members report; the list is empty if nothing is read.
func (h *Half) sources() (list []database.MetricsSource, err error) {
	reporter, ok := h.run.Driver.(database.MetricsReporter)
	if !ok || h.plan.Every == 0 {
		return nil, nil
	}
	target := *h.run.Target
	if target.TLS == nil && h.run.DB.TLS != nil {
		target.TLS = &database.TLS{} // a dry run reads no files
	}
	for i, endpoint := range target.Endpoints {
		source, err := h.plan.Source(reporter.Reports(target, i), endpoint)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	return list, nil
}

// Prepare asks each member once, so that numbers are known before the first request.
func (h *Half) Prepare(ctx context.Context) error {
	sources, err := h.sources()
	if err != nil {
		return err
	}
	config, err := h.run.Target.TLS.Config()
	if err != nil {
		return err
	}
	for i, source := range sources {
		scraper := scrape.New(source, config)
		scraper.Wait(patience)
		m := &member{path: filepath.Join(h.run.Dir, results.DatabaseFile(i+1)), scraper: scraper}
		if show := h.run.Reported; show != nil {
			m.show = func(s results.DatabaseSample) { show(i, s) }
		}
		m.counts.Every = h.plan.Every
		h.members = append(h.members, m)
	}
	h.each(func(m *member) { m.ask(ctx) })
	var errs []error
	for i, m := range h.members {
		if m.why != "" {
			h.run.Say("member %d reports no metrics of its own: %s", i+1, m.why)
		}
		errs = append(errs, m.close()) // the load may never begin
	}
	return errors.Join(errs...)
}

// each calls do for all members at once.
func (h *Half) each(do func(*member)) {
	var wg sync.WaitGroup
	for _, m := range h.members {
		wg.Go(func() { do(m) })
	}
	wg.Wait()
}

// Run asks the members until the load is over, and a last time then.
func (h *Half) Run(ctx context.Context) error {
	h.each(func(m *member) { m.run(ctx, h.plan.Every, h.run.DB.Load.WarmUp) })
	return nil
}

// Record records how the members answered.
func (h *Half) Record() {
	for i, m := range h.members {
		if err := errors.Join(m.lost, m.close(), membermetrics.Record().Set(&h.run.Record.Members[i].Records, m.counts)); err != nil {
			h.run.Say("some of the metrics of member %d are missing: %v", i+1, err)
		}
		if m.why != "" {
			h.run.Mark(mark.MetricsRefused, mark.Values{"member": float64(i + 1), "asked": float64(m.counts.Answered + m.counts.Unanswered)}, mark.Words{"why": plaintext.Joined(m.why)})
		}
	}
}

// scraper reads metrics from one member; a [scrape.Scraper] except in tests.
type scraper interface {
	Scrape(context.Context) (results.DatabaseSample, error)
	Close()
}

// member is asked for its metrics. One goroutine at a time uses it.
type member struct {
	path    string
	scraper scraper
	out     *results.DatabaseSampleWriter // nil while it is closed
	show    func(results.DatabaseSample)  // nil discards answers
	counts  membermetrics.Scraped
	// why is the last error from a member that has never answered, and lost the first error of its
	// file.
	why  string
	lost error
}

// run asks when a warm-up ends, at each interval and at the end.
func (m *member) run(ctx context.Context, every, warmUp time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	warm := time.NewTimer(warmUp)
	defer warm.Stop()
	if warmUp == 0 {
		warm.Stop() // the first request was preceded by an answer
	}
	for {
		select {
		case <-ctx.Done():
			m.ask(context.WithoutCancel(ctx))
			return
		case <-warm.C:
		case <-ticker.C:
		}
		m.ask(context.WithoutCancel(ctx)) // that the load ended is no failure of the member
	}
}

// ask asks once and writes the answer. Failures before the first answer are only counted.
func (m *member) ask(ctx context.Context) {
	sample, err := m.scraper.Scrape(ctx)
	m.counts.Asked += time.Duration(sample.AskedNS)
	m.counts.Bytes += sample.Bytes
	if err == nil && sample.Values.Equal(metric.OfDatabase().Values()) {
		err = errNotOfDatabase
		sample.Error = err.Error()
	}
	switch {
	case err == nil:
		m.why = ""
		if m.counts.Answered++; m.show != nil {
			m.show(sample)
		}
	case m.counts.Answered == 0:
		m.counts.Unanswered++
		m.why = err.Error()
		return
	default:
		m.counts.Unanswered++
	}
	if err := m.write(sample); err != nil && m.lost == nil {
		m.lost = err
	}
}

// errNotOfDatabase means that another program answered, for example with a page.
var errNotOfDatabase = errors.New("the answer has none of the database's metrics")

// write appends sample to the member file.
func (m *member) write(sample results.DatabaseSample) (err error) {
	if m.out == nil {
		if m.out, err = results.NewDatabaseSampleWriter(m.path); err != nil {
			return err
		}
	}
	return m.out.Write(sample)
}

// close closes the connection and the file. The next request opens them again.
func (m *member) close() error {
	m.scraper.Close()
	if m.out == nil {
		return nil
	}
	out := m.out
	m.out = nil
	return out.Close()
}
