package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// alternate runs every program o.pairs times, in turn. If before is not nil, it is called
// before each turn.
func alternate(ctx context.Context, o options, rows []row, before func() error) error {
	for pair := range o.pairs {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		for i := range rows {
			u, err := rows[i].run(ctx, o)
			if err != nil {
				return fmt.Errorf("%s: %w", rows[i].name, err)
			}
			rows[i].runs = append(rows[i].runs, u)
			fmt.Fprintf(os.Stderr, "pair %d: %-26s %7d requests, %6.2f CPU s, %6.2f s, RssAnon %3d MB, peak RSS %3d MB\n",
				pair+1, rows[i].name, u.requests, u.cpu.Seconds(), u.wall.Seconds(), u.anon/1e6, u.peak/1e6)
		}
	}
	return nil
}

func (r row) run(ctx context.Context, o options) (usage, error) {
	u, output, err := measure(ctx, o.dir, r.argv)
	const recorded = 3 // exit code from dbtester
	if exit := (*exec.ExitError)(nil); r.notValid && errors.As(err, &exit) && exit.ExitCode() == recorded {
		err = nil
	}
	if err != nil {
		return u, err
	}
	u.requests = o.requests
	if r.count != nil {
		u.requests, err = r.count(output)
	}
	return u, err
}
