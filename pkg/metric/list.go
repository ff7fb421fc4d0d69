package metric

import (
	"fmt"
	"slices"
	"sync"
)

// List is an ordered set of metrics. It is immutable and safe for concurrent use.
type List struct {
	metrics []Metric
	index   map[Name]int
}

// NewList checks the declarations. Names and columns must be unique.
func NewList(metrics ...Metric) (*List, error) {
	l := &List{metrics: slices.Clone(metrics), index: make(map[Name]int, len(metrics))}
	columns := map[string]Name{}
	for i, m := range metrics {
		if err := m.check(); err != nil {
			return nil, err
		}
		if _, twice := l.index[m.Name]; twice {
			return nil, fmt.Errorf("metric %q must be declared once, got two declarations", m.Name)
		}
		if other, twice := columns[m.Column]; twice {
			return nil, fmt.Errorf("metrics %q and %q must have different columns, got %q for both", other, m.Name, m.Column)
		}
		l.index[m.Name], columns[m.Column] = i, m.Name
	}
	return l, nil
}

// System returns the metrics in a system-metrics sample, ordered as in [Sources].
func System() *List { return system() }

var system = sync.OnceValue(func() *List {
	var all []Metric
	for _, s := range Sources() {
		all = append(all, s.Metrics...)
	}
	l, err := NewList(all...)
	if err != nil {
		panic(err) // a declaration in this package is wrong
	}
	return l
})

func (l *List) Len() int { return len(l.metrics) }

// At returns the metric at an index in [0, Len).
func (l *List) At(i int) Metric { return l.metrics[i] }

// Metrics returns a copy of the list.
func (l *List) Metrics() []Metric { return slices.Clone(l.metrics) }

// Index returns the index for n, or false for an undeclared name.
func (l *List) Index(n Name) (int, bool) {
	i, ok := l.index[n]
	return i, ok
}

// Must returns the metric with a name. It panics if the name is not declared, which can only be
// caused by a mistake in our own lists.
func (l *List) Must(n Name) Metric { return l.metrics[l.must(n)] }

func (l *List) must(n Name) int {
	i, ok := l.index[n]
	if !ok {
		panic(fmt.Sprintf("metric %q must be declared in a source of package metric", n))
	}
	return i
}
