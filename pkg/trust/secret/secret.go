// Package secret reads passwords from the places named in experiment files: the environment or a
// file.
package secret

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// maxBytes limits a password file. A longer file is not a password file.
const maxBytes = 64 << 10

// Password reads a password from file, without trailing line breaks, or from the environment
// variable if file is empty. No error contains any part of it.
func Password(file, variable string) (string, error) {
	if file == "" {
		password := os.Getenv(variable)
		if password == "" {
			return "", fmt.Errorf("auth: the environment variable %s is not set or empty", variable)
		}
		return password, nil
	}
	f, err := regularfile.Open(file)
	if err != nil {
		return "", fmt.Errorf("auth: open password file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	password := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("auth: read password file: %w", err)
	case len(data) > maxBytes:
		return "", fmt.Errorf("auth: password file %q is longer than %d bytes", file, maxBytes)
	case password == "":
		return "", fmt.Errorf("auth: password file %q is empty", file)
	}
	return password, nil
}
