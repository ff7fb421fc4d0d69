package control

import (
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/trust/secret"
)

// credentials reads the TLS files and the password needed by database clients. The error joins all
// problems. Both results are nil for a cluster that needs neither.
func credentials(db *config.Database) (*database.TLS, *database.Auth, error) {
	var files *database.TLS
	var errs []error
	if t := db.TLS; t != nil {
		files = &database.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key}
		// The drivers read them too. An error is reported here once, and not by every
		// connection.
		if _, err := files.Config(); err != nil {
			errs = append(errs, named("tls", err))
		}
	}
	var auth *database.Auth
	if a := db.Auth; a != nil {
		password, err := secret.Password(a.PasswordFile, a.PasswordEnv)
		auth = &database.Auth{User: a.User, Password: password}
		errs = append(errs, err)
	}
	return files, auth, errors.Join(errs...)
}

// named prefixes every error joined in err with name. Each is printed on its own line, among those
// from other databases.
func named(name string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, named(name, e))
	}
	return errors.Join(errs...)
}
