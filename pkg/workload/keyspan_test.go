package workload_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestKeySpans(t *testing.T) {
	spans := workload.KeySpans{{Size: 8, First: 10, End: 20}}.Add(
		workload.KeySpan{Size: 8, First: 20, End: 25}, workload.KeySpan{Size: 4, First: 0, End: 1},
		workload.KeySpan{Size: 8, First: 12, End: 13}, workload.KeySpan{Size: 8, First: 9, End: 9}, workload.KeySpan{Size: 0, First: 0, End: 5})
	want := workload.KeySpans{{Size: 4, First: 0, End: 1}, {Size: 8, First: 10, End: 25}}
	if diff := cmp.Diff(want, spans); diff != "" {
		t.Errorf("merged spans (-want +got):\n%s", diff)
	}
	if n := spans.Count(); n != 16 {
		t.Errorf("the spans have %d keys, want 16", n)
	}
	if n := spans.Add(workload.KeySpan{Size: 9, First: 0, End: math.MaxInt64}).Count(); n != math.MaxInt64 {
		t.Errorf("a count beyond the largest number is %d", n)
	}
	for key, has := range map[string]bool{
		"00000010": true, "00000024": true, "0000": true, "00000025": false, "00000009": false, "000000010": false,
		"0000001": false, "deep/00000010": false, "": false, "dbtester-claim": false, "99999999999999999999": false,
	} {
		if got := spans.Has([]byte(key)); got != has {
			t.Errorf("Has(%q) = %v", key, got)
		}
	}
	if (workload.KeySpans)(nil).Has([]byte("00000010")) {
		t.Error("no spans have no key")
	}
}
