// Package exposition declares the load and machine metrics that Prometheus scrapes: control,
// agents and generators expose the same number by the same name.
package exposition

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/trust/spectators"
)

// Prefix begins all metric names.
const Prefix = "dbtester_"

// Handler returns the endpoint for a collector.
func Handler(c prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: spectators.Most}), nil
}

// Desc describes a metric by its name without the prefix.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(Prefix+name, help, labels, nil)
}

// Send sends a metric value.
func Send(out chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	sendOr(out, d, m, err)
}

func sendOr(out chan<- prometheus.Metric, d *prometheus.Desc, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	out <- m
}

// with returns labels followed by others, in a new list.
func with(labels []string, others ...string) []string {
	return append(labels[:len(labels):len(labels)], others...)
}

// Load holds the numbers for a load, or for a part, at the end of a second.
type Load struct {
	Offered int64 // requests due so far
	Last    load.Progress
}

// declared is a number in T.
type declared[T any] struct {
	name, help string
	kind       prometheus.ValueType
	value      func(T) float64
}

// ofLoad declares the numbers for a load in progress.
func ofLoad() []declared[Load] {
	counter, gauge := prometheus.CounterValue, prometheus.GaugeValue
	return []declared[Load]{
		{"load_offered_total", "Requests that were due.", counter, func(l Load) float64 { return float64(l.Offered) }},
		{"load_requests_total", "Requests that ended or were shed.", counter, func(l Load) float64 { return float64(l.Last.Done) }},
		{"load_errors_total", "Requests that failed or whose outcome is unknown, without those that the database declined.", counter, func(l Load) float64 { return float64(l.Last.Errors) }},
		{"load_declined_total", "Requests that the database declined, such as a read of a key that is not there.", counter, func(l Load) float64 { return float64(l.Last.Declined) }},
		{"load_in_flight", "Requests that were sent and had not ended at the end of the last second.", gauge, func(l Load) float64 { return float64(l.Last.InFlight) }},
		{"load_clients", "Clients of the current step.", gauge, func(l Load) float64 { return float64(l.Last.Step.Clients) }},
		{"load_step", "Number of the current step, from 1.", gauge, func(l Load) float64 { return float64(l.Last.Step.Index + 1) }},
		{"load_step_rate", "Requests per second that the current step offers when it begins; 0 is a closed loop.", gauge, func(l Load) float64 { return l.Last.Step.Rate }},
	}
}

// Loads describes and sends load metrics with some labels.
type Loads struct {
	numbers numbers[Load]
	latency *prometheus.Desc
}

// NewLoads returns load metrics with some labels.
func NewLoads(labels ...string) *Loads {
	return &Loads{
		numbers: numbersOf(ofLoad(), labels),
		latency: Desc("load_last_second_latency_seconds", "Latency of the ok requests of the last second: response time with a rate, else service time; no sample without an ok request.", with(labels, "quantile")...),
	}
}

// Describe sends all descriptions.
func (m *Loads) Describe(out chan<- *prometheus.Desc) {
	m.numbers.describe(out)
	out <- m.latency
}

// Send sends the load metrics.
func (m *Loads) Send(out chan<- prometheus.Metric, l Load, labels ...string) {
	m.numbers.send(out, l, labels)
	if l.Last.P50 > 0 {
		Send(out, m.latency, prometheus.GaugeValue, l.Last.P50.Seconds(), with(labels, "0.5")...)
		Send(out, m.latency, prometheus.GaugeValue, l.Last.P99.Seconds(), with(labels, "0.99")...)
	}
}

// numbers pairs declared numbers with their descriptions.
type numbers[T any] struct {
	declared []declared[T]
	descs    []*prometheus.Desc
}

func numbersOf[T any](all []declared[T], labels []string) numbers[T] {
	n := numbers[T]{declared: all}
	for _, d := range all {
		n.descs = append(n.descs, Desc(d.name, d.help, labels...))
	}
	return n
}

func (n numbers[T]) describe(out chan<- *prometheus.Desc) {
	for _, d := range n.descs {
		out <- d
	}
}

func (n numbers[T]) send(out chan<- prometheus.Metric, of T, labels []string) {
	for i, d := range n.declared {
		Send(out, n.descs[i], d.kind, d.value(of), labels...)
	}
}

// Machines describes and sends the metrics in machine samples, with some labels.
type Machines struct {
	sampled   []*prometheus.Desc // by index in metric.System
	timestamp *prometheus.Desc
}

// NewMachines returns machine metrics with some labels.
func NewMachines(labels ...string) *Machines {
	m := &Machines{timestamp: Desc("machine_sample_timestamp_seconds", "Time of the newest sample by the clock of its machine.", labels...)}
	for _, s := range metric.System().Metrics() {
		m.sampled = append(m.sampled, Desc(MachineMetric(s), "The "+s.Help+" ("+s.Unit+").", labels...))
	}
	return m
}

// MachineMetric returns a sampled metric name without the common prefix.
func MachineMetric(m metric.Metric) string { return named("machine_", m) }

// named returns a metric name with a prefix. Counter names end in _total.
func named(prefix string, m metric.Metric) string {
	name := prefix + string(m.Name)
	if m.Kind == metric.Counter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	return name
}

// sendKnown sends a metric value, unless it is unknown.
func sendKnown(out chan<- prometheus.Metric, desc *prometheus.Desc, m metric.Metric, v float64, labels []string) {
	if v == metric.Unknown {
		return
	}
	kind := prometheus.GaugeValue
	if m.Kind == metric.Counter {
		kind = prometheus.CounterValue
	}
	Send(out, desc, kind, v, labels...)
}

// Describe sends all descriptions.
func (m *Machines) Describe(out chan<- *prometheus.Desc) {
	for _, d := range m.sampled {
		out <- d
	}
	out <- m.timestamp
}

// Send sends the metrics in a sample. Those that the machine could not read are left out.
func (m *Machines) Send(out chan<- prometheus.Metric, s *results.Sample, labels ...string) {
	for i, sampled := range metric.System().Metrics() {
		sendKnown(out, m.sampled[i], sampled, s.Values.At(i), labels)
	}
	Send(out, m.timestamp, prometheus.GaugeValue, float64(s.UnixNano)/1e9, labels...)
}

// Members describes and sends the metrics that members report about themselves, with some labels,
// except their histograms.
type Members struct {
	descs []*prometheus.Desc // by index in metric.OfDatabase
}

// NewMembers returns member metrics with some labels.
func NewMembers(labels ...string) *Members {
	m := &Members{}
	for _, reported := range metric.OfDatabase().Metrics() {
		m.descs = append(m.descs, Desc(MemberMetric(reported), "The "+reported.Help+", by the member's own account ("+reported.Unit+").", labels...))
	}
	return m
}

// MemberMetric returns the name, without the common prefix, of a metric that members report.
func MemberMetric(m metric.Metric) string { return named("member_", m) }

// Describe sends all descriptions.
func (m *Members) Describe(out chan<- *prometheus.Desc) {
	for i, reported := range metric.OfDatabase().Metrics() {
		if reported.Kind != metric.Histogram {
			out <- m.descs[i]
		}
	}
}

// Send sends the metrics that a member answered. Unreported ones are left out.
func (m *Members) Send(out chan<- prometheus.Metric, s *results.DatabaseSample, labels ...string) {
	for i, reported := range metric.OfDatabase().Metrics() {
		if reported.Kind != metric.Histogram {
			sendKnown(out, m.descs[i], reported, s.Values.At(i), labels)
		}
	}
}
