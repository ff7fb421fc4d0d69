package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	healing "github.com/coreos/dbtester/control/abilities/faults"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// healFlags are the flags of heal. Run folders may come from others, so heal runs only commands
// that are also in the experiment file, which its user names.
type healFlags struct {
	below, config string
	commands, yes bool
}

func newHeal(a *app) *cobra.Command {
	var f healFlags
	cmd := &cobra.Command{
		Use:   "heal RUN",
		Short: "Undo the commands that an interrupted run has left: print what undoes them, and run it if allowed",
		Example: `  dbtester heal LAST
  dbtester heal LAST --allow-commands --config FILE`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.heal(cmd.Context(), args, f)
		},
		ValidArgsFunction: completeRuns,
	}
	flags := cmd.Flags()
	registerNewest(flags, &f.below)
	flags.BoolVar(&f.commands, "allow-commands", false, "run what undoes the commands, if --config has the same")
	flags.StringVarP(&f.config, "config", "c", "", "experiment file of the run: only its own undos are run")
	flags.BoolVar(&f.yes, "yes", false, "run it without asking")
	return cmd
}

// heal prints the undos left open by a run, and runs them if permitted.
func (a *app) heal(ctx context.Context, args []string, f healFlags) error {
	if f.commands != (f.config != "") {
		return usageError{errors.New("--allow-commands and --config go together: what the run recorded is run only if your experiment file has it too")}
	}
	folder, err := a.namedFolder(args, f.below)
	if err != nil {
		return err
	}
	m, err := folder.Manifest()
	if err != nil {
		return err
	}
	var e *config.Experiment
	if f.config != "" {
		if e, err = a.readExperiment(f.config); err != nil {
			return err
		}
	}
	left := 0
	for _, db := range m.Databases {
		n, err := a.healTag(ctx, folder.Path(db.Tag), db.Tag, e, f)
		if err != nil {
			return fmt.Errorf("%s: %w", db.Tag, err)
		}
		left += n
	}
	switch {
	case left == 0:
		fmt.Fprintln(a.err, "dbtester: no command of this run is left to be undone")
	case !f.commands:
		fmt.Fprintln(a.err, "dbtester: nothing was run: undo it by hand, or with --allow-commands and --config FILE")
	}
	return nil
}

// healTag heals one database in a run, and returns how many undos it had to do.
func (a *app) healTag(ctx context.Context, dir, tag string, e *config.Experiment, f healFlags) (int, error) {
	file, err := faults.OpenUndo(filepath.Join(dir, faults.FileUndo), false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	list, err := file.Pending()
	for _, u := range list {
		fmt.Fprintf(a.out, "%s: fault %s ran %s\n  undone by: %s\n", plaintext.Line(tag), plaintext.Line(u.ID), plaintext.Line(faults.Argv(u.Run)), plaintext.Line(faults.Argv(u.Argv)))
	}
	if err == nil && f.commands && len(list) > 0 {
		err = a.healAll(ctx, file, list, dir, tag, e, f.yes)
	}
	return len(list), errors.Join(err, file.Close())
}

// healAll runs undos that are also in the experiment file, once they are confirmed.
func (a *app) healAll(ctx context.Context, file *faults.UndoFile, list []faults.Undo, dir, tag string, e *config.Experiment, yes bool) error {
	at := slices.IndexFunc(e.Databases, func(d config.Database) bool { return d.Tag == tag })
	if at < 0 {
		return usageError{errors.New("the experiment file has no database of that tag")}
	}
	asked := faults.Keys().Of(e.Databases[at].Abilities)
	for _, u := range list {
		if u.Number < 0 || u.Number >= len(asked) || asked[u.Number].Kind != faults.Command || !slices.Equal(asked[u.Number].Undoes(), u.Argv) {
			return usageError{fmt.Errorf("the undo of fault %s is none of the experiment file: it is not run", plaintext.Line(u.ID))}
		}
	}
	if err := a.confirm(yes, "nothing was run")(fmt.Sprintf("run what undoes %d commands", len(list))); err != nil {
		return err
	}
	for _, u := range list {
		done, err := healing.RunCommand(ctx, u.Argv, dir)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, plaintext.Line(done))
		u.Done = done
		if err := file.Note(u); err != nil {
			return err
		}
	}
	return nil
}
