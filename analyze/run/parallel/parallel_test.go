package parallel

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		done := make([]int, n)
		if err := Each(n, func(i int) error { done[i]++; return nil }); err != nil || slices.Max(append(done, 1)) != 1 || slices.Min(append(done, 1)) != 1 {
			t.Errorf("each of %d calls must be made once, got %v and %v", n, done, err)
		}
	}
}

// Calls before a failing one are made, and their errors come first.
func TestEachFails(t *testing.T) {
	made := make([]bool, 1000)
	err := Each(len(made), func(i int) error {
		made[i] = true
		if i >= 5 {
			return fmt.Errorf("call %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "call 5" || slices.Contains(made[:6], false) || !slices.Contains(made, false) {
		t.Errorf("got %v; the first six calls %v; all calls made %v", err, made[:6], !slices.Contains(made, false))
	}
	if want := errors.New("only"); Each(1, func(int) error { return want }) != want { //nolint:errorlint // it is not wrapped
		t.Error("the error of a call must be returned as it is")
	}
}
