package selfcheck

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/results"
)

// Print writes the report as one table in four parts.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.printService(t)
	r.printResponse(t)
	r.printPaces(t)
	r.printWaits(t)
	return t.Flush()
}

func (r *Report) printService(t io.Writer) {
	c := r.Service
	fmt.Fprintf(t, "Service time in a closed loop: %d clients for %v, n = %s\n", c.Clients, c.Duration, humanize.Comma(c.N))
	fmt.Fprint(t, "\tmeasured\ttrue\tdifference\t\t\n")
	for _, row := range c.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", name(row), ms(row.Measured), ms(row.True), ms(row.Measured-row.True), percent(row))
	}
	fmt.Fprint(t, "true: from receipt to reply in the server's own log; without the network and this machine's scheduling\n\n")
}

func (r *Report) printResponse(t io.Writer) {
	c := r.Response
	fmt.Fprintf(t, "Response time at %s requests per second: %d clients for %v, n = %s; the server stalls for %v\n",
		humanize.Comma(int64(c.Rate)), c.Clients, c.Duration, humanize.Comma(c.N), c.Law.StallFor)
	fmt.Fprint(t, "\tmeasured\ttrue\tdifference\t\tby the law\tclosed loop\t\n")
	for i, row := range c.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name(row), ms(row.Measured), ms(row.True),
			ms(row.Measured-row.True), percent(row), ms(row.Theory), ms(r.Service.Rows[i].Measured))
	}
	fmt.Fprint(t, "true: the schedule and the clients' queue replayed with the delays in the server's log; by the law: with the delays that it was given\n")
	fmt.Fprint(t, "closed loop: the same server, clients and stall; its percentiles omit waiting, because a waiting client sends nothing\n\n")
}

func (r *Report) printPaces(t io.Writer) {
	fmt.Fprintf(t, "Pacing: the highest rate kept on this machine is %s requests per second\n", humanize.Comma(int64(r.HighestRate)))
	fmt.Fprint(t, "rate\tsent/s\tqueued\tlate p50\tp99\tmax\tn\tkept\t\n")
	for _, p := range r.Paces {
		kept := "yes"
		if !p.Accurate() {
			kept = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", humanize.Comma(int64(p.Rate)), humanize.Comma(int64(float64(p.Sent)/p.Seconds)),
			humanize.Comma(p.Queued), spreadMS(p.Lateness, 0.5, p.Lateness.P50), spreadMS(p.Lateness, 0.99, p.Lateness.P99),
			ms(p.Lateness.Max), humanize.Comma(p.Lateness.N), kept)
	}
	fmt.Fprintf(t, "kept: sent within 1 %% of due, late by less than 1 ms at p99, nothing queued; %d clients without a server\n\n", paceClients)
}

func (r *Report) printWaits(t io.Writer) {
	fmt.Fprintf(t, "Waits that end %v apart, overshoot\n", spacing)
	fmt.Fprint(t, "\tp50\tp99\tmax\tn\t\n")
	for _, s := range []struct {
		name string
		results.Spread
	}{{"timer", r.TimerLateness}, {"client", r.ClientLateness}} {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", s.name, spreadMS(s.Spread, 0.5, s.P50), spreadMS(s.Spread, 0.99, s.P99), ms(s.Max), humanize.Comma(s.N))
	}
	fmt.Fprint(t, "timer: one of the Go runtime; client: one client of the engine\n")
}

// name marks the row if it has too few samples.
func name(r Row) string { return marked(r.Name, r.Enough) }

// spreadMS prints percentile q in milliseconds, marked if it has too few samples.
func spreadMS(s results.Spread, q float64, ns int64) string { return marked(ms(ns), s.Enough(q)) }

func marked(text string, enough bool) string {
	if enough {
		return text
	}
	return text + " (few)"
}

func ms(ns int64) string {
	return fmt.Sprintf("%.3f ms", float64(ns)/float64(time.Millisecond))
}

func percent(r Row) string { return fmt.Sprintf("%+.2f %%", r.Difference) }
