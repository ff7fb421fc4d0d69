package table

import (
	"testing"
)

func TestFold(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"short", "short"},
		{"one two three", "one two\n  three"},
		{"averyveryverylongword here", "averyveryv\n  erylongw\n  ord here"},
	} {
		if got := Fold(test.in, 10, "  "); got != test.want {
			t.Errorf("fold(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}
