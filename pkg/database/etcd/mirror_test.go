package etcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

func TestMirror(t *testing.T) {
	lean, standard, library := New(), New(), New()
	lean.Transport, standard.Transport, library.Transport = database.Lean, database.Standard, transportLibrary
	databasetest.Mirror(t, "127.30.1.1", Database(), map[string]database.Driver{"lean": lean, "standard": standard, "clientv3": library})
}
