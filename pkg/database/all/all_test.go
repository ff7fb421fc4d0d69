package all

import (
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Defaults must be valid, cross the wire and never be shared between drivers.
func TestRegistry(t *testing.T) {
	for _, db := range Registry().All() {
		t.Run(db.Name, func(t *testing.T) {
			driver := db.New()
			if driver == db.New() {
				t.Error("two drivers share their options")
			}
			data, err := yaml.Dump(driver)
			if err != nil {
				t.Fatalf("encode the options: %v", err)
			}
			if err := yamlfile.DecodeOptions(data, db.New()); err != nil {
				t.Errorf("%v\n%s", err, data)
			}
			// A machine large enough for any default.
			facts := database.HostFacts{MemoryBytes: 1 << 40}
			if v, ok := driver.(database.Validator); ok {
				if err := v.Validate(facts); err != nil {
					t.Errorf("validate the options: %v", err)
				}
			}
			if class := (&results.DatabaseRun{Setup: results.Setup{Fsync: db.Info.Fsync}}).SyncClass(); class != db.Info.Durability || class == "" {
				t.Errorf("the class of %q is %q, want %q as its words state", db.Info.Fsync, db.Info.Durability, class)
			}
			if db.Info.Ports["client"] == 0 {
				t.Error("no client port")
			}
		})
	}
}
