package zetcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest"
)

func BenchmarkHandOvers(b *testing.B) { databasetest.BenchmarkHandOvers(b, suite(b)) }
