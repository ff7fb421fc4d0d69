package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// CleanupOptions are the inputs to [Cleanup]. Other users may have written the run folder, so
// nothing sends the contents of files or variables named there.
type CleanupOptions struct {
	Folder   *results.Folder
	Registry *database.Registry
	// Access returns the credentials for the database with this tag on endpoints named in the
	// folder, or why the credentials are not for those endpoints.
	Access func(tag string, endpoints []string) (*config.TLS, *config.Auth, error)
	// Prefix is the run prefix as the user typed it: all keys below it are removed, even keys not
	// covered by a claim. "" removes the keys covered by the claim of the run.
	Prefix string
	// Owner names the user and the process, as for a run.
	Owner string
	// Confirm is called before keys are removed. Its question has the cluster, the prefix and the
	// key count.
	Confirm func(question string) error
	// Say reports progress.
	Say func(format string, args ...any)
}

// Cleanup removes the keys left by a recorded run below its prefixes on shared clusters, and
// records the cleanup in the manifest.
func Cleanup(ctx context.Context, o CleanupOptions) error {
	m, err := o.Folder.Manifest()
	if err != nil {
		return err
	}
	var e config.Experiment
	if err := json.Unmarshal(m.Config, &e); err != nil {
		return fmt.Errorf("decode the run's experiment: %w", err)
	}
	found := false
	var errs []error
	for _, record := range m.Databases {
		at := slices.IndexFunc(e.Databases, func(d config.Database) bool { return d.Tag == record.Tag })
		if record.Shared == nil || record.Shared.Prefix == "" || at < 0 {
			continue
		}
		found = true
		if err := o.clean(ctx, m.RunID, record, &e.Databases[at]); err != nil {
			errs = append(errs, named(plaintext.Line(record.Tag), err))
		}
	}
	if !found {
		o.Say("the run did not write to a shared cluster: there is nothing to remove")
		return nil
	}
	return errors.Join(append(errs, o.Folder.WriteManifest(m))...)
}

// clean removes the keys left in one database.
func (o CleanupOptions) clean(ctx context.Context, runID string, record *results.DatabaseRun, db *config.Database) error {
	prefix := record.Shared.Prefix
	if err := config.CheckPrefix(prefix); err != nil {
		return fmt.Errorf("the prefix in the manifest %w", err)
	}
	if o.Prefix != "" && o.Prefix != prefix {
		return fmt.Errorf("the run's prefix is %q, not %q", prefix, o.Prefix)
	}
	driver, t, err := o.dialed(record, db)
	if err != nil {
		return err
	}
	left, err := shared.Find(ctx, driver, t, runID)
	switch {
	case err != nil:
		return err
	case left.Keys == 0 && !left.Claimed:
		o.Say("%s: no keys are below %s/", plaintext.Line(record.Tag), prefix)
		record.Shared.Left = 0
		record.Validity = withoutKeysLeft(record.Validity)
		return nil
	case o.Prefix != "":
		left.Which = database.Removable{All: true}
	case left.Why != nil:
		return fmt.Errorf("%w: --prefix %s, typed by hand, removes all %d keys below it", left.Why, prefix, left.Keys)
	}
	if err := o.Confirm(question(record, t, left)); err != nil {
		return err
	}
	done, rest := shared.CleanLeft(ctx, driver, t, left, userOf(o.Owner), o.Say)
	record.Shared.Cleanup, record.Shared.Left = &done, rest
	o.Say("%s: removed %d keys below %s/", plaintext.Line(record.Tag), done.Removed, prefix)
	if done.Error != "" {
		return errors.New(done.Error)
	}
	record.Validity = withoutKeysLeft(record.Validity)
	return nil
}

func withoutKeysLeft(marks []results.Mark) []results.Mark {
	return slices.DeleteFunc(marks, func(m results.Mark) bool { return m.Code == mark.KeysLeft })
}

// dialed returns the driver and cluster of a recorded database, with the credentials of the user.
func (o CleanupOptions) dialed(record *results.DatabaseRun, db *config.Database) (database.Driver, database.Target, error) {
	t := database.Target{Prefer: -1, Endpoints: db.Endpoints, Prefix: record.Shared.Prefix}
	entry, err := o.Registry.Get(record.Database)
	if err != nil {
		return nil, t, err
	}
	driver := entry.New()
	if err := json.Unmarshal(record.Options, driver); err != nil {
		return nil, t, fmt.Errorf("decode the recorded options: %w", err)
	}
	if len(t.Endpoints) == 0 {
		return nil, t, errors.New("the manifest names no endpoints")
	}
	for _, endpoint := range t.Endpoints {
		if _, _, err := net.SplitHostPort(endpoint); err != nil || plaintext.Line(endpoint) != endpoint {
			return nil, t, fmt.Errorf("the manifest's endpoint %q is not HOST:PORT", endpoint)
		}
	}
	given := config.Database{}
	if given.TLS, given.Auth, err = o.Access(record.Tag, t.Endpoints); err != nil {
		return nil, t, err
	}
	if db.TLS != nil && given.TLS == nil || db.Auth != nil && given.Auth == nil {
		return nil, t, errors.New("the run used TLS or a password; what its folder names is not sent to addresses that it names: give --config with the experiment file, or flags such as --tls-ca and --password-file")
	}
	t.TLS, t.Auth, err = credentials(&given)
	return driver, t, err
}

// question returns the question that the user must confirm.
func question(record *results.DatabaseRun, t database.Target, left shared.Left) string {
	which := fmt.Sprintf("those of run %s and of earlier runs of %s, of %d keys", left.Claim.Run, left.Claim.Owner, left.Keys)
	if left.Which.All {
		which = fmt.Sprintf("all %d keys", left.Keys)
	}
	return plaintext.Line(fmt.Sprintf("%s at %s: remove %s below the prefix %s/", record.Database, strings.Join(t.Endpoints, ", "), which, t.Prefix))
}
