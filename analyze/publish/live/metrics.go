package live

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/coreos/dbtester/pkg/metric"
)

// metricsOf returns a run's endpoint for Prometheus.
func metricsOf(r *Run) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(newCollector(r)); err != nil {
		return nil, fmt.Errorf("register the metrics of the run: %w", err)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostViewers}), nil
}

// loadMetric is a number of the load of one database.
type loadMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*oneLoad) float64
}

// collector exports a run's state at the time of a scrape.
type collector struct {
	run       *Run
	loads     []loadMetric
	latency   *prometheus.Desc
	machines  []*prometheus.Desc // by index in metric.System
	timestamp *prometheus.Desc
}

func newCollector(r *Run) *collector {
	ofLoad, ofMachine := []string{"database", "trial"}, []string{"database", "trial", "machine"}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("dbtester_"+name, help, labels, nil)
	}
	c := &collector{
		run:     r,
		latency: desc("load_last_second_latency_seconds", "Latency of the ok requests of the last second: response time with a rate, else service time; no sample without an ok request.", append(ofLoad, "quantile")...),
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      func(*oneLoad) float64
	}{
		{"load_offered_total", "Requests that were due.", prometheus.CounterValue, func(l *oneLoad) float64 { return float64(l.offered) }},
		{"load_requests_total", "Requests that ended or were shed.", prometheus.CounterValue, func(l *oneLoad) float64 { return float64(l.last.Done) }},
		{"load_errors_total", "Requests that failed or whose outcome is unknown, without those that the database declined.", prometheus.CounterValue, func(l *oneLoad) float64 { return float64(l.last.Errors) }},
		{"load_declined_total", "Requests that the database declined, such as a read of a key that is not there.", prometheus.CounterValue, func(l *oneLoad) float64 { return float64(l.last.Declined) }},
		{"load_in_flight", "Requests that were sent and had not ended at the end of the last second.", prometheus.GaugeValue, func(l *oneLoad) float64 { return float64(l.last.InFlight) }},
		{"load_clients", "Clients of the current step.", prometheus.GaugeValue, func(l *oneLoad) float64 { return float64(l.last.Step.Clients) }},
		{"load_step", "Number of the current step, from 1.", prometheus.GaugeValue, func(l *oneLoad) float64 { return float64(l.last.Step.Index + 1) }},
		{"load_step_rate", "Requests per second that the current step offers when it begins; 0 is a closed loop.", prometheus.GaugeValue, func(l *oneLoad) float64 { return l.last.Step.Rate }},
	} {
		c.loads = append(c.loads, loadMetric{desc(m.name, m.help, ofLoad...), m.kind, m.value})
	}
	for _, m := range metric.System().Metrics() {
		c.machines = append(c.machines, desc(machineMetric(m), "The "+m.Help+" ("+m.Unit+").", ofMachine...))
	}
	c.timestamp = desc("machine_sample_timestamp_seconds", "Time of the newest sample by the clock of its machine.", ofMachine...)
	return c
}

// machineMetric returns the name of a sampled metric without the common prefix. A counter's name
// ends in _total.
func machineMetric(m metric.Metric) string {
	name := "machine_" + string(m.Name)
	if m.Kind == metric.Counter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	return name
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.loads {
		out <- m.desc
	}
	for _, d := range c.machines {
		out <- d
	}
	out <- c.latency
	out <- c.timestamp
}

// Collect implements [prometheus.Collector]. Metrics that a machine could not read are left out.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.run.state()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		m, err := prometheus.NewConstMetric(d, kind, v, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		out <- m
	}
	for i := range s.loads {
		l := &s.loads[i]
		of := []string{l.of.Tag, strconv.Itoa(l.of.Trial)}
		if !l.start.IsZero() {
			for _, m := range c.loads {
				send(m.desc, m.kind, m.value(l), of...)
			}
			if l.last.P50 > 0 {
				send(c.latency, prometheus.GaugeValue, l.last.P50.Seconds(), append(of, "0.5")...)
				send(c.latency, prometheus.GaugeValue, l.last.P99.Seconds(), append(of, "0.99")...)
			}
		}
		for _, name := range l.names() {
			c.machine(send, l.machines[name], append(of, name))
		}
	}
}

// machine sends the metrics of a machine's newest sample.
func (c *collector) machine(send func(*prometheus.Desc, prometheus.ValueType, float64, ...string), m machine, labels []string) {
	for i, declared := range metric.System().Metrics() {
		v := m.last.Values.At(i)
		if v == metric.Unknown {
			continue
		}
		kind := prometheus.GaugeValue
		if declared.Kind == metric.Counter {
			kind = prometheus.CounterValue
		}
		send(c.machines[i], kind, v, labels...)
	}
	send(c.timestamp, prometheus.GaugeValue, float64(m.last.UnixNano)/1e9, labels...)
}

var _ prometheus.Collector = (*collector)(nil)
