package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// browserPatience is how long a browser may take to fail. One that still runs afterwards belongs to
// the user, and stays open.
const browserPatience = 5 * time.Second

// openHelp is the help for --open.
const openHelp = "open the report's page in the browser that BROWSER names, or that xdg-open does"

// open opens page in a browser. It fails if no browser can be started; later problems are not
// reported.
func (s streams) open(ctx context.Context, page string) error {
	page, err := filepath.Abs(page)
	if err != nil {
		return fmt.Errorf("open the report: %w", err)
	}
	var errs []error
	for _, argv := range browsers(os.Getenv("BROWSER"), page) {
		err := startBrowser(ctx, argv)
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("open the report in a browser: %s: %w", argv[0], err))
	}
	return errors.Join(errs...)
}

// browsers returns the command lines to try in turn: those in BROWSER, separated by colons, or
// xdg-open. The page replaces %s, or is appended.
func browsers(variable, page string) (list [][]string) {
	for _, text := range strings.Split(variable, ":") {
		argv := strings.Fields(text)
		if len(argv) == 0 {
			continue
		}
		named := false
		for i, arg := range argv {
			if i > 0 && strings.Contains(arg, "%s") {
				argv[i], named = strings.ReplaceAll(arg, "%s", page), true
			}
		}
		if !named {
			argv = append(argv, page)
		}
		list = append(list, argv)
	}
	if len(list) == 0 {
		list = [][]string{{"xdg-open", page}}
	}
	return list
}

// startBrowser starts a browser in its own session, so signals to this program do not reach it.
// It returns when the browser has ended or has run for browserPatience, or when ctx ends. A
// browser is never stopped.
func startBrowser(ctx context.Context, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec // the user's own program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the browser, or with this program
	patience := time.NewTimer(browserPatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		return err
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}
