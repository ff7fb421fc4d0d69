package database

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Fsyncer is a driver whose options change when a write is on disk. Fsync
// states it in one line for the options as decoded, and Durability is its class; without
// this interface [Info.Fsync] and [Info.Durability] hold whatever the options are.
type Fsyncer interface {
	Fsync() string
	Durability() declared.Durability
}
