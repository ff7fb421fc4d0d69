package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// report prints the tables. busy describes the load on the machine.
func report(out io.Writer, busy string, o options, list []verdict) {
	fmt.Fprintf(out, "# Deaths of instances, by two observers\n\nInstances of a service die, at most %d in each run, and all consumers are to know within %v (the scenario service-discovery, docs/scenarios.md). The times of dbtester's first and last consumer are compared with those of a prober that shares no code with it: its first and last of three watches, one through each member, by the store's own client library. The two agree if both times are within %v. "+
		"The parts of each death and deploy must add up to the whole within 1 ms. Declared dead while alive: by dbtester because the store broke its rule, and because renewals were late or had no answer; and by the prober, which knows no reasons. "+
		"Members, agents, load and prober share one machine with %d processors, %s. Made by `make discovery`.\n\n", batch, o.notice, o.tolerance, runtime.NumCPU(), busy)
	fmt.Fprint(out, "| store | deaths | agree | largest difference, ms | parts add up | alive: rule broken | not renewed | by the prober | changes lost |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, v := range list {
		n, most := v.agree()
		fmt.Fprintf(out, "| %s | %d | %d | %.1f | %d of %d | %d | %d | %d | %d |\n", v.name, len(v.deaths), n, milliseconds(most), v.added, v.changes, v.alive, v.unrenewed, v.outside, v.lost)
	}
	fmt.Fprint(out, "\n| store | death | known to all after, s | first consumer - first watch, ms | last consumer - last watch, ms |\n|---|---|---|---|---|\n")
	for _, v := range list {
		for i, d := range v.deaths {
			fmt.Fprintf(out, "| %s | %d | %s |\n", v.name, i+1, d.cells(v.tolerance))
		}
	}
}

// reportAlive prints the table with the instances that were to be kept alive, for the stores that
// did not fail.
func reportAlive(out io.Writer, busy string, o options, stores int, list []verdict) {
	fmt.Fprintf(out, "# Living instances that are declared dead\n\n%d instances of a service are kept alive for %v beside a load of %d updates a second, in each store with the TTL that keeps a promise of %v. Nobody may declare one of them dead: neither the store before its rule allows it, nor because a renewal was late or had no answer, nor by the account of a prober that shares no code with dbtester and watches the instances through each member. "+
		"Then %d others die: that the prober sees these through every member shows that it would have seen more. The times of renewals and the numbers of lost and late ones are of the whole load. "+
		"%sMembers, agents, load and prober share one machine with %d processors, %s. Made by `make no-flap`.\n\n", o.living, o.alive, o.rate, o.notice, o.deaths, together(stores), runtime.NumCPU(), busy)
	fmt.Fprint(out, "| store | instances | alive, declared dead: rule broken | not renewed | by the prober | deaths that the prober saw | renewals | p99, ms | longest, ms | lost | late |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, v := range list {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d of %d | %d | %.1f | %.1f | %d | %d |\n", v.name, v.registered, v.alive, v.unrenewed, v.outside, len(v.deaths)-v.unseen(), len(v.deaths),
			v.renewals.N, milliseconds(v.renewals.P99), milliseconds(v.renewals.Max), v.unanswered, v.late)
	}
}

// together states that stores ran at the same time.
func together(stores int) string {
	if stores < 2 {
		return ""
	}
	return fmt.Sprintf("All %d ran at once, each on three members of its own. That is harder for them than one after the other: what one store takes of the machine delays the renewals of the others. ", stores)
}

// reportFailed names the stores with a failed run.
func reportFailed(out io.Writer, list []verdict) {
	for _, v := range list {
		if v.failed != nil {
			fmt.Fprintf(out, "\n**%s** has no row, because a run failed: %s\n", v.name, strings.Join(strings.Fields(v.failed.Error()), " "))
		}
	}
}

// cells formats the times for a death.
func (d death) cells(tolerance time.Duration) string {
	switch {
	case !d.known:
		return "not known to all | | "
	case !d.seen:
		return fmt.Sprintf("%.3f | not seen by the prober | ", d.whole.Seconds())
	}
	note := ""
	if d.apart() > tolerance {
		note = " **apart**"
	}
	return fmt.Sprintf("%.3f | %+.1f | %+.1f%s", d.whole.Seconds(), milliseconds(d.first), milliseconds(d.last), note)
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
