// Command audit runs dbtester against scripted servers and compares its report with the server log.
// It shares no code with dbtester: it has its own servers, record readers and arithmetic. Run it
// with `make audit`.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := audit(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
}

// audit prints a table with all cases. It fails if a check fails unexpectedly, or if a case that is
// known to fail passes.
func audit(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program to audit")
	small := flags.Bool("small", false, "short runs, as in tests")
	only := flags.String("run", "", "regular expression of the cases to run")
	dir := flags.String("dir", "", "folder to keep the records in (default: a temporary one, removed)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	place := *dir
	if place == "" {
		if place, err = os.MkdirTemp("", "audit-"); err != nil {
			return err
		}
		defer os.RemoveAll(place)
	}
	a := &auditor{program: *program, dir: place, scale: Scale{Full: !*small}}
	var verdicts []Verdict
	for _, c := range cases() {
		if !wanted.MatchString(c.Name) || c.Full && *small {
			continue
		}
		began := time.Now()
		v := a.judge(ctx, c)
		verdicts = append(verdicts, v)
		fmt.Fprintf(progress, "%-34s %5.1fs  %s\n", c.Name, time.Since(began).Seconds(), v.summary())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, c := range realCases() {
		if !wanted.MatchString(c.Name()) || *small && !c.Small {
			continue
		}
		began := time.Now()
		v := a.real(ctx, c)
		verdicts = append(verdicts, v)
		fmt.Fprintf(progress, "%-34s %5.1fs  %s\n", c.Name(), time.Since(began).Seconds(), v.summary())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	printVerdicts(out, verdicts, a.scale)
	return surprises(verdicts)
}
