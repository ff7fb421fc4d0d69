package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
)

// fileCommands is the log for output from commands and undos, in the tag folder.
const fileCommands = "commands.log"

// command runs a user command, later its undo, and records both. The undo is on disk before the
// command runs.
func (r *Runner) command(ctx context.Context, d faults.Due) {
	id := fmt.Sprintf("%d-%d", d.Number+1, d.Repeat+1)
	h := faults.Happened{Asked: d.Asked(), Member: -1, From: time.Now().UTC()}
	own := context.WithoutCancel(ctx) // commands that began are always undone
	undo := faults.Undo{ID: id, Number: d.Number, Time: h.From, Run: d.Run, Argv: d.Undoes()}
	if h.Failed = oneLine(r.noteUndo(undo)); h.Failed != "" {
		r.over(h)
		return
	}
	r.run.Step("fault: %s", faults.Argv(d.Run))
	h.From = time.Now().UTC()
	r.run.Event(results.Event{Time: h.From, Kind: faults.EventFault, Member: -1, Text: d.Kind + lasting(d.For)})
	var err error
	if h.Saw, err = RunCommand(own, d.Run, r.run.Dir); err == nil {
		r.run.Event(results.Event{Time: time.Now().UTC(), Kind: faults.EventReadBack, Member: -1, Text: h.Saw})
		sleep.For(ctx, d.For-time.Since(h.From))
	}
	if argv := d.Undoes(); argv != nil {
		var undoErr error
		if h.SawOver, undoErr = RunCommand(own, argv, r.run.Dir); undoErr == nil {
			undo.Done = h.SawOver
			undoErr = r.noteUndo(undo)
		}
		if undoErr != nil {
			err = errors.Join(err, fmt.Errorf("undo: %w", undoErr))
		}
	}
	h.Failed = oneLine(err)
	r.over(h)
}

// noteUndo saves the state of an undo on disk.
func (r *Runner) noteUndo(u faults.Undo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.undos == nil {
		var err error
		if r.undos, err = faults.OpenUndo(filepath.Join(r.run.Dir, faults.FileUndo), true); err != nil {
			return err
		}
	}
	return r.undos.Note(u)
}

// RunCommand runs a program with its arguments and returns its outcome. It appends the output to a
// log in dir. The program is killed with its process group after [faults.CommandWithin], and when
// this process ends before it.
func RunCommand(ctx context.Context, argv []string, dir string) (saw string, err error) {
	log := filepath.Join(dir, fileCommands)
	began := time.Now()
	h, err := process.Start(process.Command{Name: "the command", Path: argv[0], Args: argv[1:], Log: log})
	if err != nil {
		return "", err
	}
	timer := time.NewTimer(faults.CommandWithin)
	defer timer.Stop()
	select {
	case <-h.Done():
	case <-timer.C:
	}
	exit, ended := h.Exit()
	if !ended {
		exit = h.Stop(ctx, process.Deadlines{Kill: killWithin})
	}
	took := time.Since(began).Round(time.Millisecond)
	if ended && exit.Code == 0 {
		return fmt.Sprintf("%s ended with exit 0 after %v", argv[0], took), nil
	}
	tail, _ := process.Tail(log, tailLines) // helps readers
	return "", fmt.Errorf("%s ended with %s after %v: %s", faults.Argv(argv), exit, took, plaintext.Joined(tail))
}

const (
	// killWithin is the time that a killed program may take to end.
	killWithin = 5 * time.Second
	// tailLines is the number of lines to quote from a failed command.
	tailLines = 5
)
