package all

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPromises: every read mode in every database states its promise, and only these modes are
// judged as linearizable. ZooKeeper modes never are.
func TestPromises(t *testing.T) {
	var linearizable []string
	for _, db := range Registry().All() {
		for _, mode := range db.Info.Reads {
			p, stated := db.Info.Promises[mode]
			if !stated || p.Text == "" {
				t.Errorf("%s does not say what %s reads promise", db.Name, mode)
			}
			if p.Linearizable {
				linearizable = append(linearizable, db.Name+" "+string(mode))
			}
		}
	}
	slices.Sort(linearizable)
	if diff := cmp.Diff([]string{"cetcd linearizable", "consul linearizable", "etcd linearizable"}, linearizable); diff != "" {
		t.Errorf("linearizable reads (-want +got):\n%s", diff)
	}
}
