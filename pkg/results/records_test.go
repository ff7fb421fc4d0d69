package results

import (
	"encoding/json"
	"strings"
	"testing"
)

// Ability records are among a run's keys, even records that no release knows.
func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	var run DatabaseRun
	if err := json.Unmarshal([]byte(`{"tag":"etcd","upkeep":[{"kind":"compact"}],"members":[{"index":2,"profiles":[],"<&>":1}],"of a newer release":{"a":1},"validity":[]}`), &run); err != nil {
		t.Fatal(err)
	}
	if run.Tag != "etcd" || len(run.Records) != 2 {
		t.Fatalf("read %q with the records %s", run.Tag, run.Records)
	}
	if m := run.Members[0]; m.Index != 2 || len(m.Records) != 2 {
		t.Fatalf("read member %d with the records %s", m.Index, m.Records)
	}
	data, err := json.Marshal([]*DatabaseRun{&run})
	if err != nil {
		t.Fatal(err)
	}
	if member := `{"index":2,"addr":"","endpoint":"","\u003c\u0026\u003e":1,"profiles":[]}`; !strings.Contains(string(data), member) {
		t.Errorf("%s lacks the member %s", data, member)
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
