package pattern

import "testing"

func TestNew(t *testing.T) {
	number := New(`^\d+$`)
	if first, second := number(), number(); first != second {
		t.Error("the expression is compiled twice")
	}
	if !number().MatchString("12") || number().MatchString("a") {
		t.Error("the expression is not the one that was given")
	}
	defer func() {
		if recover() == nil {
			t.Error("a malformed expression is used without a panic")
		}
	}()
	New(`(`)()
}
