package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// versionTimeout bounds the wait until a member reports its version again. versionEvery is the
	// interval between requests for it.
	versionTimeout = time.Minute
	versionEvery   = 100 * time.Millisecond
)

// upgraded asks a member started with another release for its version, until it answers, and
// records the version. It returns an error if that is not the requested release.
func (r *Runner) upgraded(ctx context.Context, version string, member int, release []byte) error {
	before := r.run.Record.Members[member]
	u := faults.Upgrade{From: before.Version}
	r.mu.Lock()
	if earlier, again := r.upgrades[member]; again {
		u.From = earlier.From
	}
	r.mu.Unlock()
	got, err := dbtesterpb.ReadRecord[results.Release]("the release", release)
	if err != nil {
		return err
	}
	u.Release = got
	if v, ok := r.run.Driver.(database.Versioner); ok {
		runs, unanswered := r.reported(ctx, v, member)
		if unanswered != nil {
			return fmt.Errorf("ask the member for its version: %w", unanswered)
		}
		name, _, _ := strings.Cut(u.From, " ") // for a database behind proxies
		if u.To = runs; strings.Contains(u.From, " ") {
			u.To = name + " " + runs
		}
		if !ofRelease(runs, version) {
			err = fmt.Errorf("the member runs %s, not %s", u.To, version)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.upgrades == nil {
		r.upgrades = map[int]faults.Upgrade{}
	}
	r.upgrades[member] = u
	return err
}

// reported returns the version reported by a member, as soon as it answers.
func (r *Runner) reported(ctx context.Context, v database.Versioner, member int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	ticker := time.NewTicker(versionEvery)
	defer ticker.Stop()
	for {
		once, end := context.WithTimeout(ctx, probeTimeout)
		version, err := v.Version(once, *r.run.Target, member)
		if end(); err == nil {
			return version, nil
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-ticker.C:
		}
	}
}

// ofRelease reports whether a reported version belongs to release. Members may append how they were
// built.
func ofRelease(reported, release string) bool {
	reported, release = database.PlainVersion(reported), database.PlainVersion(release)
	rest, ok := strings.CutPrefix(reported, release)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "-+ "))
}
