package main

import (
	"io"

	"github.com/coreos/dbtester/pkg/database"
)

// streams are the inputs and outputs of commands.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app holds the dependencies of all commands.
type app struct {
	streams
	registry *database.Registry
	self     []string // argv that runs this program again
	last     *lastWords
	typed    typed // standard input
	bisect   bool  // use the exit codes of git bisect run
}

// typed holds the data from standard input, which can be read only once and which commands may
// parse several times.
type typed struct {
	read bool
	name string // in positions; "" means standard input
	data []byte
}
