package control

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/config"
)

// checkCommands returns why this process may not or cannot run the fault commands for db, with
// their places.
func checkCommands(o Options, db *config.Database) error {
	var errs []error
	for _, f := range faults.Commands(faults.Keys().Of(db.Abilities)) {
		if !o.AllowCommands {
			errs = append(errs, fmt.Errorf("%s: the fault %s runs a program on this machine (%s): allow it with dbtester control --allow-commands", f.Place, f.Kind, faults.Argv(f.Run)))
			continue
		}
		for _, argv := range [][]string{f.Run, f.Undoes()} {
			if len(argv) == 0 {
				continue
			}
			if _, err := exec.LookPath(argv[0]); err != nil {
				errs = append(errs, fmt.Errorf("%s: the fault %s: %w", f.Place, f.Kind, err))
			}
		}
	}
	return errors.Join(errs...)
}
