package results

import (
	"encoding/json"
	"testing"
)

// Records of abilities are among the keys of a run, also those that no release knows.
func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	var run DatabaseRun
	if err := json.Unmarshal([]byte(`{"tag":"etcd","upkeep":[{"kind":"compact"}],"of a newer release":{"a":1},"validity":[]}`), &run); err != nil {
		t.Fatal(err)
	}
	if run.Tag != "etcd" || len(run.Records) != 2 {
		t.Fatalf("read %q with the records %s", run.Tag, run.Records)
	}
	data, err := json.Marshal([]*DatabaseRun{&run})
	if err != nil {
		t.Fatal(err)
	}
	var again []map[string]json.RawMessage
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"tag": `"etcd"`, "upkeep": `[{"kind":"compact"}]`, "of a newer release": `{"a":1}`} {
		if got := string(again[0][key]); got != want {
			t.Errorf("%s is written as %s, want %s", key, got, want)
		}
	}
}
