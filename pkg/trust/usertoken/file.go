// Package usertoken lets two processes of the same user on one machine recognize each other over a
// connection that other users could open as well. Both read a secret, the token, from a file that
// only the user can read. Each proves that it knows the token with an HMAC over fresh random
// numbers from both sides. The token itself is never sent, and a captured proof cannot be reused.
//
// A proof includes the address on which one side listens and which the other dialed, so a process
// listening on another address of the machine cannot relay proofs. Connections are not encrypted:
// they are for loopback addresses, where other users can neither read nor modify the data.
package usertoken

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// size is the length of a token in bytes.
const size = 32

// Token holds a secret, or no token if it is the zero value. It prints as asterisks.
type Token struct{ secret *[size]byte }

// String keeps the token out of logs and errors.
func (Token) String() string { return "***" }

// GoString returns [Token.String], for %#v.
func (Token) GoString() string { return "***" }

// DefaultFile returns the path to the user token file, which may not exist. Services, which may
// have no environment, find it in the home directory.
func DefaultFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		u, unknown := user.Current()
		if unknown != nil || !filepath.IsAbs(u.HomeDir) {
			return "", err
		}
		dir = filepath.Join(u.HomeDir, ".config")
	}
	return filepath.Join(dir, "dbtester", "token"), nil
}

// Ensure reads the token in a file. If the file does not exist, Ensure creates it with a new token.
// Concurrent processes all get the same token.
func Ensure(path string) (Token, error) {
	token, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Token{}, fmt.Errorf("make folder for token: %w", err)
	}
	var secret [size]byte
	rand.Read(secret[:]) // never fails (crypto/rand)
	err = wholefile.CreatePrivate(path, wholefile.Bytes([]byte(hex.EncodeToString(secret[:])+"\n")))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Token{}, fmt.Errorf("make token: %w", err)
	}
	return Read(path)
}

// Read reads the token in a file. The file must belong to this user, and no other user may have
// access to it.
func Read(path string) (token Token, err error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return token, fmt.Errorf("open token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return token, fmt.Errorf("open token: %w", err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return token, fmt.Errorf("token %s belongs to user id %d, and this process has %d", path, s.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return token, fmt.Errorf("token %s has mode %#o: other users may know it; remove it and start the agents again", path, mode)
	}
	text := make([]byte, 2*size+2)
	n, err := f.Read(text)
	if err != nil {
		return token, fmt.Errorf("read token %s: %w", path, err)
	}
	secret, err := hex.DecodeString(strings.TrimSuffix(string(text[:n]), "\n"))
	if err != nil || len(secret) != size {
		return token, fmt.Errorf("token %s is damaged: want %d hexadecimal digits; remove it and start the agents again", path, 2*size)
	}
	return Token{secret: (*[size]byte)(secret)}, nil
}
