package zetcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

func TestMirror(t *testing.T) {
	lean, standard := New(), New()
	lean.Transport, standard.Transport = database.Lean, database.Standard
	databasetest.Mirror(t, "127.30.1.5", Database(), map[string]database.Driver{"lean": lean, "standard": standard})
}
