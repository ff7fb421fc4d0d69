package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// maxSecret bounds a password in bytes: what is longer is another file.
const maxSecret = 64 << 10

// readCredentials puts what the experiment refers to into the target: nothing but
// the target holds a password.
func (c *conductor) readCredentials(context.Context) (err error) {
	c.target.TLS, c.target.Auth, err = credentials(c.db)
	return err
}

// credentials reads what the clients of a database need to be let in, and returns
// everything that is wrong with it. Both are nil for a cluster that is open to
// all.
func credentials(db *config.Database) (*database.TLS, *database.Auth, error) {
	var files *database.TLS
	var errs []error
	if t := db.TLS; t != nil {
		files = &database.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key}
		// The drivers read them too. What is wrong is told once, and not by every
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

// password reads a password from where the experiment says it is. No error holds
// any of it.
func password(a *config.Auth) (string, error) {
	if a.PasswordFile == "" {
		secret := os.Getenv(a.PasswordEnv)
		if secret == "" {
			return "", fmt.Errorf("auth: the environment variable %s is not set or empty", a.PasswordEnv)
		}
		return secret, nil
	}
	f, err := os.Open(a.PasswordFile)
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
