package faults

import (
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// checker checks the faults for a database.
type checker struct {
	*yamlfile.Reader
	d      *ability.Database
	repeat Repeat
	items  []yamlfile.Written[Fault]
}
