package control

import (
	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
)

// counted returns a function that shows request counts to the caller of [Run], or nil if the caller
// wants no counts.
func (r *run) counted(o Options) func(*exposition.Part) {
	if o.Audience.Counted == nil {
		return nil
	}
	return func(p *exposition.Part) {
		o.Audience.Counted(Counted{Trial: r.journal.about.Trial, Tag: r.journal.about.Tag, Load: p})
	}
}

// countedSink counts the seconds that it passes on.
type countedSink struct {
	abilities.Sink
	counts *exposition.Part
}

var _ abilities.Sink = countedSink{}

// Second counts a second and records it.
func (c countedSink) Second(s load.Second) error {
	c.counts.Second(s)
	return c.Sink.Second(s)
}

// show counts the load if the caller of [Run] wants its counts. It returns the sink for its
// records.
func (l *loader) show(spec load.Spec, out abilities.Sink) abilities.Sink {
	if l.counted == nil {
		return out
	}
	l.counts = exposition.NewPart(spec)
	l.counted(l.counts)
	return countedSink{out, l.counts}
}
