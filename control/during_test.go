package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/abilities"
)

// noted is an activity that records its calls.
type noted struct {
	name     string
	refuses  error
	err      error
	did      *[]string
	cause    error
	finished bool
}

func (a *noted) Name() string { return a.name }

func (a *noted) Prepare(context.Context) error {
	*a.did = append(*a.did, "prepare "+a.name)
	return a.refuses
}

func (a *noted) Run(ctx context.Context) error {
	<-ctx.Done()
	a.cause, a.finished = context.Cause(ctx), true
	return a.err
}

func (a *noted) Record() {
	if !a.finished {
		*a.did = append(*a.did, "too early")
	}
	*a.did = append(*a.did, "record "+a.name)
}

func TestDuring(t *testing.T) {
	t.Parallel()
	var did []string
	a, b := &noted{name: "a", did: &did, err: errors.New("broken")}, &noted{name: "b", did: &did}
	d := &during{activities: []abilities.Activity{a, b}}
	if err := d.prepare(t.Context()); err != nil {
		t.Fatalf("prepare the activities: %v", err)
	}
	d.start(t.Context())
	d.start(t.Context()) // again is nothing
	if err := d.stop(); message(err) != "a: broken" {
		t.Errorf("stop returned %v, want the error of a under its name", err)
	}
	if want := []string{"prepare a", "prepare b", "record a", "record b"}; !slices.Equal(did, want) {
		t.Errorf("the activities did %q, want %q", did, want)
	}
	if !errors.Is(a.cause, abilities.ErrOver) {
		t.Errorf("the activity ended because of %v, want %v", a.cause, abilities.ErrOver)
	}
}

// Activities during steps outlive an interrupt, those during a load do not.
func TestDuringInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	var did []string
	outlives, ends := &noted{name: "outlives", did: &did}, &noted{name: "ends", did: &did}
	s := beside(outlives, false)
	if err := s.do(ctx); err != nil {
		t.Fatalf("do the step: %v", err)
	}
	d := &during{activities: []abilities.Activity{ends}}
	d.start(ctx)
	cancel(errSignal)
	if err := errors.Join(d.stop(), s.undo(ctx)); err != nil {
		t.Errorf("stop the activities: %v", err)
	}
	if !errors.Is(outlives.cause, abilities.ErrOver) || !errors.Is(ends.cause, errSignal) {
		t.Errorf("ended because of %v and %v, want %v and %v", outlives.cause, ends.cause, abilities.ErrOver, errSignal)
	}
}

// An activity that cannot be prepared does not run, and has nothing to record.
func TestDuringRefused(t *testing.T) {
	t.Parallel()
	var did []string
	s := beside(&noted{name: "a", did: &did, refuses: errSignal}, false)
	if err := errors.Join(s.do(t.Context()), s.undo(t.Context())); !errors.Is(err, errSignal) {
		t.Errorf("starting returned %v, want %v", err, errSignal)
	}
	if got := strings.Join(did, ", "); got != "prepare a" {
		t.Errorf("the activity did %q, want only to prepare", got)
	}
}
