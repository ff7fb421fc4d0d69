package database

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Fsyncer is a driver whose options change when a write is on disk. For the decoded
// options Fsync states that moment in one line, and Durability is its class. Without this
// interface [Info.Fsync] and [Info.Durability] hold for all options.
type Fsyncer interface {
	Fsync() string
	Durability() declared.Durability
}
