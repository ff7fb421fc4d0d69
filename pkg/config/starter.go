package config

import (
	"fmt"
	"strings"
)

// Starter returns the file that `dbtester config init` writes. It is short and
// commented, names the databases in the catalog, and loads without problems.
func Starter(catalog Catalog) []byte {
	var b strings.Builder
	b.WriteString(`# An experiment. Everything left out has a default: "dbtester config show FILE"
# prints them all, and "dbtester config check FILE" finds what is wrong.
title: My first experiment

# The database machines; an agent runs on each ("dbtester agent").
hosts: [127.0.0.1, 127.0.0.2, 127.0.0.3]

load:
  operation: write     # or read, update, ...; or one of these in its place:
  # mix: {read: 0.95, update: 0.05}
  # workload: ycsb-a   # ... ycsb-f, kubernetes: mixes with a name and a key law
  requests: 100000     # or duration: 1m
  key_size: 256
  value_size: 1KiB
  clients: 100         # a list such as [1, 10, 100] is tried step by step
  # rate: 1000         # requests per second of all clients; none: as fast as they can

# One column of the report for each: NAME or NAME__ANY_LABEL. A load, hosts and
# options given here hold for that database alone.
databases:
`)
	for i, e := range catalog {
		if i == 0 {
			fmt.Fprintf(&b, "  %s:\n    # version: ...     # the release to run\n    # load: {clients: 1000}\n", e.Name)
			continue
		}
		fmt.Fprintf(&b, "  # %s:\n", e.Name)
	}
	return []byte(b.String())
}
