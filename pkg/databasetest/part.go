package databasetest

// Part selects cases of the suite, which run instead of the whole suite except in make test-long.
type Part int

const (
	// Whole has every case. It is the zero value.
	Whole Part = iota
	// Clients has the cases that depend on client code: for another transport.
	Clients
	// Servers has the cases that depend on the member release: for another release.
	Servers
)
