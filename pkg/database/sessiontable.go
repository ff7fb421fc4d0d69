package database

import (
	"fmt"
	"time"
)

// manySessions is the number of sessions that end at once in the session table.
const manySessions = 20_000

// SessionTableHead is the first line of a [SessionTable].
const SessionTableHead = "| database | a session is | TTLs | it ends | one ends | 20,000 end | it is renewed by | its end is seen by | requests of a load |"

// SessionTable returns a Markdown table that documents the sessions of databases with default
// options.
func SessionTable(list []Database) string {
	var rows [][]string
	for _, d := range list {
		rows = append(rows, append([]string{d.Name}, sessionCells(d)...))
	}
	return markdown(SessionTableHead, rows)
}

// sessionCells returns the cells in a database's row, without its name.
func sessionCells(d Database) []string {
	f := d.Info.Sessions
	if f == nil {
		return []string{"none: " + d.Info.NoSessions, "", "", "", "", "", "", ""}
	}
	what, rule, requests := f.What, f.Rule, f.Requests
	if f.Conns {
		what += ", over a connection of its own"
	}
	if _, changes := d.New().(SessionRuler); changes {
		rule += "; options change that"
	}
	if requests == "" {
		requests = "none: " + f.NoRequests
	}
	ends := func(n int) string {
		earliest, latest := f.Ends(f.Least, n)
		earliest, latest = earliest.Round(time.Millisecond), latest.Round(time.Millisecond)
		if earliest == latest {
			return earliest.String()
		}
		return fmt.Sprintf("%v to %v", earliest, latest)
	}
	return []string{what, f.Bounds(), rule, ends(1), ends(manySessions), f.Renewal, f.Watch, requests}
}
