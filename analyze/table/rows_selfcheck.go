package table

import (
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// selfCheckAdded continues the definition of a percentile.
const selfCheckAdded = " of service times minus that of the server's true delays, n requests: the load's heaviest step was applied for a few seconds, before the load, to a loopback server of the database's own protocol whose delay is known. It is what this client on this machine adds at this rate, with the loopback connection and the protocol on both sides"

// checked returns a cell of the check of a run's load. It does not apply to runs without
// a check.
func checked(r *run.Run, cell func(*results.LoadCheck) Cell) Cell {
	switch c := r.Info.Record.SelfCheck; {
	case c == nil:
		return inapplicable("only a run with control --selfcheck auto has it")
	case c.Unavailable != "":
		return missing("%s", c.Unavailable)
	default:
		return cell(c)
	}
}

// selfCheckCell prints the quantile q of what the client added.
func selfCheckCell(q float64, get func(*results.LoadCheck) results.Compared) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		return checked(r, func(c *results.LoadCheck) Cell {
			at := get(c)
			return spreadCell(q, at.Added(), at.N)
		})
	}
}

func selfCheckLateness(r *run.Run) Cell {
	return checked(r, func(c *results.LoadCheck) Cell {
		if c.Lateness == nil {
			return inapplicable("only a load with a rate has it")
		}
		return spreadCell(.99, c.Lateness.P99, c.Lateness.N)
	})
}

func selfCheckThroughput(r *run.Run) Cell {
	return checked(r, func(c *results.LoadCheck) Cell {
		return number(c.RequestsPerSecond, c.P50.N, "%s req/s", humanize.Comma(int64(c.RequestsPerSecond+.5)))
	})
}
