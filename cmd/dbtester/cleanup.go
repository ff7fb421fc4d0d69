package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// cleanupFlags are the flags for cleanup. Run folders may come from others, so the user names the
// credentials.
type cleanupFlags struct {
	below, prefix, config string
	yes                   bool
	tls                   config.TLS
	auth                  config.Auth
}

func newCleanup(a *app) *cobra.Command {
	var f cleanupFlags
	cmd := &cobra.Command{
		Use:   "cleanup RUN",
		Short: "Remove the keys that a run left below its prefix on a cluster that others use",
		Example: `  dbtester cleanup LAST
  dbtester cleanup LAST --config FILE --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := a.namedFolder(args, f.below)
			if err != nil {
				return err
			}
			access, err := a.accessOf(f)
			if err != nil {
				return err
			}
			say := func(format string, args ...any) {
				fmt.Fprintln(a.err, plaintext.Line(fmt.Sprintf(format, args...)))
			}
			return withInterrupt(cmd.Context(), control.Cleanup(cmd.Context(), control.CleanupOptions{
				Folder: folder, Registry: a.registry, Access: access, Prefix: f.prefix, Owner: owner(), Confirm: a.confirm(f.yes, "nothing was removed"), Say: say,
			}))
		},
		ValidArgsFunction: completeRuns,
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *cleanupFlags) register(flags *pflag.FlagSet) {
	registerNewest(flags, &f.below)
	flags.BoolVar(&f.yes, "yes", false, "remove the keys without asking")
	flags.StringVar(&f.prefix, "prefix", "", "the run's prefix, typed by hand: remove all keys below it, also those that no claim has")
	flags.StringVarP(&f.config, "config", "c", "", "experiment file with the credentials of the cluster; its endpoints must be those of the run")
	flags.StringVar(&f.tls.CA, "tls-ca", "", "file of the authority that signed the members' certificates")
	flags.StringVar(&f.tls.Cert, "tls-cert", "", "file of the client's certificate")
	flags.StringVar(&f.tls.Key, "tls-key", "", "file of the client's key")
	flags.StringVar(&f.auth.User, "user", "", "user of the cluster")
	flags.StringVar(&f.auth.PasswordFile, "password-file", "", "file of the user's password, or of Consul's token")
	flags.StringVar(&f.auth.PasswordEnv, "password-env", "", "environment variable with the user's password, or Consul's token")
}

// accessOf returns the source of credentials: the flags, or an experiment file, but only for
// endpoints in that file.
func (a *app) accessOf(f cleanupFlags) (func(tag string, endpoints []string) (*config.TLS, *config.Auth, error), error) {
	var tls *config.TLS
	var auth *config.Auth
	if f.tls != (config.TLS{}) {
		tls = &f.tls
	}
	if f.auth != (config.Auth{}) {
		auth = &f.auth
	}
	if f.config == "" {
		return func(string, []string) (*config.TLS, *config.Auth, error) { return tls, auth, nil }, nil
	}
	if tls != nil || auth != nil {
		return nil, usageError{errors.New("--config has the credentials: it excludes flags of TLS files and passwords")}
	}
	e, err := a.readExperiment(f.config)
	if err != nil {
		return nil, err
	}
	return func(tag string, endpoints []string) (*config.TLS, *config.Auth, error) {
		at := slices.IndexFunc(e.Databases, func(d config.Database) bool { return d.Tag == tag })
		if at < 0 {
			return nil, nil, fmt.Errorf("%s has no database with the tag %q", f.config, tag)
		}
		if db := e.Databases[at]; slices.Equal(db.Endpoints, endpoints) {
			return db.TLS, db.Auth, nil
		}
		return nil, nil, fmt.Errorf("the run's endpoints are %q, those of %s in %s are %q: credentials go to the file's endpoints alone", endpoints, tag, f.config, e.Databases[at].Endpoints)
	}, nil
}

// confirm returns a function that asks for a yes on standard input, unless yes is set. undone
// describes the effect of a no.
func (a *app) confirm(yes bool, undone string) func(question string) error {
	return func(question string) error {
		if yes {
			fmt.Fprintln(a.err, question)
			return nil
		}
		fmt.Fprintf(a.err, "%s? Type yes: ", question)
		answer, err := bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
		if strings.TrimSpace(answer) == "yes" {
			return nil
		}
		if err != nil {
			fmt.Fprintln(a.err)
		}
		return usageError{errors.New(undone + ": answer yes, or pass --yes")}
	}
}
