package control

import (
	"encoding/json"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/zetcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
)

// TestFanOutIsRecorded: the number of parents for all keys decides the cost of writes, so the
// manifest has it for each database, even by default.
func TestFanOutIsRecorded(t *testing.T) {
	t.Parallel()
	r := database.NewRegistry(zookeeper.Database(), zetcd.Database())
	e, _, err := config.Parse("test.yaml", []byte(`title: Fan out
hosts: [10.0.0.2]
databases:
  zookeeper: {version: 3.9.5}
  zookeeper__flat: {version: 3.9.5, tag: flat, options: {key_parents: 1}}
  zetcd: {options: {key_parents: 50}}
`), r.All())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	want := map[string]int{"zookeeper": zookeeper.DefaultParents, "zookeeper__flat": 1, "zetcd": 50}
	for i := range e.Databases {
		c, err := newRun(e, r, &e.Databases[i], &journal{})
		if err != nil {
			t.Fatalf("make the run: %v", err)
		}
		var recorded struct{ KeyParents int }
		if err := json.Unmarshal(c.record.Options, &recorded); err != nil || recorded.KeyParents != want[c.record.ID] {
			t.Errorf("%s: %d parents, want %d: %v in %s", c.record.ID, recorded.KeyParents, want[c.record.ID], err, c.record.Options)
		}
	}
}
