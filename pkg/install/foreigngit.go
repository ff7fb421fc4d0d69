package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Other users may have written a checkout, and its git configuration can name programs that git
// runs: hooks, a file system monitor, filters, a pager. Its source is compiled, and run only if
// the user asks for that.

// askGit runs git in a checkout. Git runs nothing the checkout names.
func askGit(ctx context.Context, git, dir string, args ...string) ([]byte, error) {
	off := []string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat", "-c", "core.untrackedCache=false",
		"-c", "protocol.allow=never", "--no-optional-locks", "-C", dir,
	}
	return output(ctx, git, append(off, args...)...)
}

// harmless are the keys in the checkout's own configuration that make git run nothing.
var harmless = pattern.New(`^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|longpaths|abbrev|compression|sparsecheckout|sparsecheckoutcone|fscache|protecthfs|protectntfs|quotepath|whitespace)|lfs\.repositoryformatversion|extensions\.(objectformat|refstorage|partialclone|preciousobjects|noop)|(remote|branch|fetch|push|pull|merge|rebase|gc|pack|index|init|user|color|advice|status|log|tag|maintenance|github|gui|submodule|receive|rerere|http|feature|repack|clone|checkout|commit|format|i18n|url)\..*)$`)

// runs are keys below the harmless sections whose values git runs.
var runs = pattern.New(`(^|\.)([a-z]*command|[a-z]*program|driver|helper|proxy|sslcertpasswordprotected|uploadpack|receivepack|vcs|update)$`)

// refuseConfigured returns an error if the checkout's configuration has a key that may make git run
// something. It reads the configuration files itself: git includes no other files from them.
func refuseConfigured(ctx context.Context, git, dir string) error {
	places, err := askGit(ctx, git, dir, "rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir")
	if err != nil {
		return fmt.Errorf("find the commit of %s, which must be a git checkout: %w", dir, err)
	}
	for place := range strings.Lines(string(places)) {
		for _, name := range []string{"config", "config.worktree"} {
			file := filepath.Join(strings.TrimRight(place, "\n"), name)
			if _, err := os.Lstat(file); os.IsNotExist(err) {
				continue
			}
			keys, err := askGit(ctx, git, dir, "config", "--no-includes", "--file", file, "--list", "--name-only", "-z")
			if err != nil {
				return fmt.Errorf("read the configuration of %s: %w", dir, err)
			}
			for key := range bytes.SplitSeq(bytes.TrimRight(keys, "\x00"), []byte{0}) {
				if name := strings.ToLower(string(key)); name != "" && (!harmless().MatchString(name) || runs().MatchString(name)) {
					return fmt.Errorf("the configuration of the checkout %s has %q, which may run programs: clone it, and name the clone", dir, key)
				}
			}
		}
	}
	return nil
}

// output runs a short command. Its error includes the command output.
func output(ctx context.Context, path string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(path), strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
