package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// checkoutPrefix is the version prefix for builds from a checkout.
const checkoutPrefix = "source-"

// IsCheckout reports whether version belongs to a build from a checkout.
func IsCheckout(version string) bool { return strings.HasPrefix(version, checkoutPrefix) }

// shownCommit and shownChanges are the numbers of hash digits in the version.
const (
	shownCommit  = 12
	shownChanges = 8
)

// CheckoutVersion returns the version under which [Installer.Get] keeps the build. Equal versions
// have equal sources and compilers: the version consists of the commit, a hash of uncommitted
// changes, if any, and Go's version. It ignores files that git ignores.
func (in *Installer) CheckoutVersion(ctx context.Context, c recipe.Checkout) (string, error) {
	commit, changes, err := in.checkoutState(ctx, c)
	if err != nil {
		return "", err
	}
	goTool, err := in.tool("go")
	if err != nil {
		return "", err
	}
	compiler, err := output(ctx, goTool, "-C", filepath.Join(c.Dir, c.Module), "env", "GOVERSION")
	if err != nil {
		return "", fmt.Errorf("find the version of Go: %w", err)
	}
	version := checkoutPrefix + commit[:min(shownCommit, len(commit))]
	if changes != "" {
		version += "-changed-" + changes[:shownChanges]
	}
	return version + "-" + strings.TrimSpace(string(compiler)), nil
}

// checkoutState returns the commit of the checkout, and a hash of the changes since, "" without
// changes.
func (in *Installer) checkoutState(ctx context.Context, c recipe.Checkout) (commit, changes string, err error) {
	git, err := in.tool("git")
	if err != nil {
		return "", "", err
	}
	if err := refuseConfigured(ctx, git, c.Dir); err != nil {
		return "", "", err
	}
	ask := func(args ...string) ([]byte, error) { return askGit(ctx, git, c.Dir, args...) }
	head, err := ask("rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("find the commit of %s, which must be a git checkout: %w", c.Dir, err)
	}
	changed, err := ask("diff", "--binary", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("find the changes in %s: %w", c.Dir, err)
	}
	// Names are relative to the folder in which git runs.
	more, err := ask("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return "", "", fmt.Errorf("find the new files in %s: %w", c.Dir, err)
	}
	commit = string(bytes.TrimSpace(head))
	if len(changed) == 0 && len(more) == 0 {
		return commit, "", nil
	}
	hash := sha256.New()
	hash.Write(changed)
	for _, name := range slices.Sorted(strings.SplitSeq(strings.TrimRight(string(more), "\x00"), "\x00")) {
		if name == "" {
			continue
		}
		if err := hashNew(hash, c.Dir, name); err != nil {
			return "", "", fmt.Errorf("hash the changes in %s: %w", c.Dir, err)
		}
	}
	return commit, hex.EncodeToString(hash.Sum(nil)), nil
}

// hashNew adds the untracked file name. A folder is a separate checkout. For a link, it adds the
// target's path and, if the target is a file, its content.
func hashNew(hash io.Writer, dir, name string) error {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		sum, _, err := hashEntry(path, fs.FileInfoToDirEntry(info))
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s  %s\n", sum, name)
		if target, err := os.Stat(path); err != nil || !target.Mode().IsRegular() {
			return nil // it does not point to a source
		}
	}
	sum, _, err := hashTree(path)
	fmt.Fprintf(hash, "%s  %s\n", sum, name)
	return err
}

// buildCheckout builds in the checkout's own module. The checkout is not modified. If others
// change it before the build has ended, that is an error: the version would name other sources.
func (s *stage) buildCheckout(ctx context.Context, c recipe.Checkout) error {
	if err := s.unchanged(ctx, c); err != nil {
		return err
	}
	if err := s.build(ctx, c); err != nil {
		return err
	}
	return s.unchanged(ctx, c)
}

// unchanged returns an error if the sources are not those named by the version of the stage.
func (s *stage) unchanged(ctx context.Context, c recipe.Checkout) error {
	now, err := s.in.CheckoutVersion(ctx, c)
	if err == nil && now != s.id.version {
		err = fmt.Errorf("%s changed before its build had ended, from %s to %s: build it again", c.Dir, s.id.version, now)
	}
	return err
}

func (s *stage) build(ctx context.Context, c recipe.Checkout) error {
	goTool, err := s.in.tool("go")
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Join(c.Dir, c.Module))
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	commit, changes, err := s.in.checkoutState(ctx, c)
	if err != nil {
		return err
	}
	flags := "-s -w"
	if c.CommitName != "" {
		flags += fmt.Sprintf(" -X %s=%s", c.CommitName, commit[:min(shownCommit, len(commit))])
	}
	env := []string{"CGO_ENABLED=0", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "GO111MODULE=on", "GOFLAGS=-mod=readonly"}
	args := []string{"-C", dir, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags=" + flags, "-o", filepath.Join(s.dir, c.Tool), c.Package}
	if err := s.run(ctx, goTool, args, env); err != nil {
		return err
	}
	s.source = c.Dir + " at commit " + commit
	s.notes = []string{"built from a checkout, not the project's own release binary"}
	if changes != "" {
		s.notes = append(s.notes, "the checkout had changes that were not committed")
	}
	return nil
}
