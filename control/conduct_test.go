package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConduct(t *testing.T) {
	t.Parallel()
	errOne, errTwo := errors.New("one"), errors.New("two")
	for _, tc := range []struct {
		name string
		// do and undo are the errors in steps a, b, c by name. skip names the skipped steps, and
		// cut the one in which ctx ends.
		do, undo map[string]error
		skip     []string
		cut      string
		want     []string // the calls, in order
		err      string
	}{
		{name: "all", want: []string{"a", "b", "c", "-c", "-b", "-a"}},
		{name: "skipped steps are not undone", skip: []string{"a", "c"}, want: []string{"b", "-b"}},
		{
			name: "what failed half way is undone", do: map[string]error{"b": errOne},
			want: []string{"a", "b", "-b", "-a"}, err: "b: one",
		},
		{
			name: "every undo runs", do: map[string]error{"c": errOne}, undo: map[string]error{"c": errTwo, "a": errOne},
			want: []string{"a", "b", "c", "-c", "-b", "-a"}, err: "c: one\ntwo\none",
		},
		{name: "ends between steps", cut: "a", want: []string{"a", "-a"}, err: "a signal came"},
		{name: "ends in the last step", cut: "c", want: []string{"a", "b", "c", "-c", "-b", "-a"}, err: "a signal came"},
		{name: "ends in an undo", cut: "-b", want: []string{"a", "b", "c", "-c", "-b", "-a"}, err: "a signal came"},
		{
			name: "a step tells of the end", cut: "b", do: map[string]error{"b": context.Canceled},
			want: []string{"a", "b", "-b", "-a"}, err: "b: a signal came",
		},
		{
			name: "a step fails otherwise", cut: "b", do: map[string]error{"b": errTwo},
			want: []string{"a", "b", "-b", "-a"}, err: "b: a signal came\ntwo",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var did, said []string
			act := func(name string, err error) func(context.Context) error {
				return func(own context.Context) error {
					if strings.HasPrefix(name, "-") && own.Err() != nil {
						t.Errorf("%s ran with a context that had ended, want one that outlives the interrupt", name)
					}
					did = append(did, name)
					if name == tc.cut {
						cancel(errSignal)
					}
					return err
				}
			}
			var steps []step
			for _, name := range []string{"a", "b", "c"} {
				steps = append(steps, step{
					name: name, do: act(name, tc.do[name]), undo: act("-"+name, tc.undo[name]), skip: slices.Contains(tc.skip, name),
				})
			}
			steps = append(steps, step{name: "nothing to undo", do: act("d", nil), skip: true})
			err := conduct(ctx, steps, func(name string) { said = append(said, name) })
			if diff := cmp.Diff(tc.want, did); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if begun := slices.DeleteFunc(slices.Clone(did), func(s string) bool { return s[0] == '-' }); !slices.Equal(begun, said) {
				t.Errorf("the steps %q were reported, %q were begun", said, begun)
			}
			if text := message(err); text != tc.err {
				t.Errorf("error %q, want %q", text, tc.err)
			}
			if tc.cut != "" && !errors.Is(err, errSignal) {
				t.Errorf("error %v does not wrap the cause of the interrupt", err)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
