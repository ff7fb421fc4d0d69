package pattern

import "testing"

func TestNew(t *testing.T) {
	number := New(`^\d+$`)
	if !number().MatchString("12") || number().MatchString("a") || number() != number() {
		t.Error("the expression is not the one that was given, compiled once")
	}
	defer func() {
		if recover() == nil {
			t.Error("a malformed expression is used without a panic")
		}
	}()
	New(`(`)()
}
