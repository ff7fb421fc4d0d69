package control

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/regularfile"
)

// maxSecret bounds a password, in bytes. A longer file is no password file.
const maxSecret = 64 << 10

// credentials reads the TLS files and the password that clients of a database need.
// The error joins all problems. Both are nil for a cluster that needs neither.
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
		password, err := password(a)
		auth = &database.Auth{User: a.User, Password: password}
		errs = append(errs, err)
	}
	return files, auth, errors.Join(errs...)
}

// password reads a password from the environment or the file that the experiment
// names. No error holds any part of it.
func password(a *config.Auth) (string, error) {
	if a.PasswordFile == "" {
		secret := os.Getenv(a.PasswordEnv)
		if secret == "" {
			return "", fmt.Errorf("auth: the environment variable %s is not set or empty", a.PasswordEnv)
		}
		return secret, nil
	}
	f, err := regularfile.Open(a.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("auth: open password file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	secret := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("auth: read password file: %w", err)
	case len(data) > maxSecret:
		return "", fmt.Errorf("auth: password file %q is longer than %d bytes", a.PasswordFile, maxSecret)
	case secret == "":
		return "", fmt.Errorf("auth: password file %q is empty", a.PasswordFile)
	}
	return secret, nil
}

// named prefixes every error that err joins with a name. Each is printed on a line
// of its own, among those of other databases.
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
