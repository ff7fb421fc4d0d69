package results

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/mark"
)

// A mark comes back from a manifest as it was written, with the sentence in this release for its
// values. A mark without values keeps its text, and so does one from a later release.
func TestMarkTold(t *testing.T) {
	written := NewMark(mark.Lost, true, mark.Values{"member": 2, "nothing": math.NaN()}, mark.Words{"why": "killed"})
	data, err := json.Marshal(written)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	var read Mark
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		m    Mark
		want string
	}{
		{read, "member 2: killed"},
		{Mark{Code: mark.Lost, Text: "as it was said before", Values: read.Values, Words: read.Words}, "member 2: killed"},
		{Mark{Code: mark.Lost, Text: "of an older release"}, "of an older release"},
		{Mark{Code: "of later", Text: "of a later release", Values: mark.Values{"n": 1}}, "of a later release"},
		{Mark{Code: mark.Lost, Text: "with other names", Values: mark.Values{"n": 1}}, "with other names"},
	} {
		if got := tt.m.Told().Text; got != tt.want {
			t.Errorf("%+v: want %q, got %q", tt.m, tt.want, got)
		}
	}
}
