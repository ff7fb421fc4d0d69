package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// maxFile limits the size of a certificate or key file in bytes.
const maxFile = 1 << 20

// Files names the PEM files of an agent or of control: the CA it trusts, and its own certificate
// with the key.
type Files struct{ CA, Cert, Key string }

// In returns the files in the folder of a party, as written by [Folder].
func In(dir string) Files {
	return Files{CA: filepath.Join(dir, FileCA), Cert: filepath.Join(dir, FileCert), Key: filepath.Join(dir, FileKey)}
}

// complete returns an error unless every file is named.
func (f Files) complete() error {
	for _, file := range []struct{ what, path string }{{"CA", f.CA}, {"certificate", f.Cert}, {"key", f.Key}} {
		if file.path == "" {
			return fmt.Errorf("the %s file is missing: TLS needs a CA, a certificate and its key", file.what)
		}
	}
	return nil
}

// keys is the content of the files.
type keys struct {
	pair   tls.Certificate // including its leaf
	roots  *x509.CertPool
	caName string
}

// load reads the files and checks that they belong to one party and match one another. It does not
// check validity times.
func (f Files) load(role Role) (*keys, error) {
	ca, err := read(f.CA)
	if err != nil {
		return nil, err
	}
	first, err := parse(ca)
	if err != nil {
		return nil, fmt.Errorf("read CA %s: %w", f.CA, err)
	}
	k := &keys{roots: x509.NewCertPool(), caName: first.Subject.CommonName}
	k.roots.AppendCertsFromPEM(ca)
	cert, err := read(f.Cert)
	if err != nil {
		return nil, err
	}
	key, err := readKey(f.Key)
	if err != nil {
		return nil, err
	}
	if k.pair, err = tls.X509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("read certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	return k, f.check(k, role)
}

// check returns an error unless the CA issued the certificate for role.
func (f Files) check(k *keys, role Role) error {
	leaf := k.pair.Leaf
	if got := RoleOf(leaf); got != role {
		return fmt.Errorf("certificate %s is for %s, not for %s", f.Cert, phrase(got), phrase(role))
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: k.roots, KeyUsages: []x509.ExtKeyUsage{usage(role)}, CurrentTime: middle(leaf)})
	if err != nil {
		return fmt.Errorf("certificate %s was not issued by the CA in %s: %w", f.Cert, f.CA, err)
	}
	return nil
}

// middle returns a time at which c is valid.
func middle(c *x509.Certificate) time.Time { return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 2) }

func usage(r Role) x509.ExtKeyUsage {
	if r == RoleAgent {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

// phrase names r in a sentence.
func phrase(r Role) string {
	switch r {
	case RoleAgent:
		return "an agent"
	case RoleControl:
		return "control"
	case RoleCA:
		return "a CA"
	default:
		return "no part of dbtester"
	}
}

func read(path string) ([]byte, error) { return regularfile.Read(path, maxFile) }

// readKey reads a key that other users can neither read nor write. The group may read it, as is
// common for services.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return nil, fmt.Errorf("key %s has mode %#o: other users may read or change it (chmod 600)", path, mode)
	}
	return read(path)
}

// version distinguishes two versions of the files without reading them.
type version [3]struct {
	size, changed, inode int64
}

// version returns the current version of the files.
func (f Files) version() (v version, err error) {
	for i, path := range []string{f.CA, f.Cert, f.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return version{}, err
		}
		v[i].size = info.Size()
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			v[i].changed, v[i].inode = changed(s), int64(s.Ino)
		}
	}
	return v, nil
}

// Info describes a certificate for display.
type Info struct {
	Path    string
	Subject string
	Role    Role
	Hosts   []string
	From    time.Time
	Until   time.Time
	// KeyExposed explains why the key next to the certificate is not secret; nil if it is secret or
	// missing.
	KeyExposed error
}

// Show describes the certificates in files and folders, and in their subfolders. Files in folders
// that are not certificates are skipped. The error joins the problems of all paths.
func Show(paths ...string) ([]Info, error) {
	var list []Info
	var errs []error
	for _, path := range paths {
		found, err := show(path)
		list, errs = append(list, found...), append(errs, err)
	}
	return list, errors.Join(errs...)
}

func show(path string) (list []Info, err error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		i, err := describe(path)
		if err != nil {
			return nil, err
		}
		return []Info{i}, nil
	}
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(file) != ".pem" {
			return err
		}
		if text, err := read(file); err != nil || !bytes.Contains(text, []byte("BEGIN CERTIFICATE")) {
			return err
		}
		i, err := describe(file)
		list = append(list, i)
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s holds no certificates", path)
	}
	return list, err
}

// describe describes a certificate. It looks for the key where [Folder] writes it.
func describe(path string) (Info, error) {
	text, err := read(path)
	if err != nil {
		return Info{}, err
	}
	c, err := parse(text)
	if err != nil {
		return Info{}, fmt.Errorf("read %s: %w", path, err)
	}
	i := Info{Path: path, Subject: c.Subject.CommonName, Role: RoleOf(c), Hosts: HostsOf(c), From: c.NotBefore, Until: c.NotAfter}
	for cert, key := range map[string]string{FileCA: FileCAKey, FileCert: FileKey} {
		if filepath.Base(path) != cert {
			continue
		}
		if _, err := readKey(filepath.Join(filepath.Dir(path), key)); !errors.Is(err, fs.ErrNotExist) {
			i.KeyExposed = err
		}
	}
	return i, nil
}

// Soon is the remaining validity below which a certificate causes a warning.
const Soon = 30 * 24 * time.Hour

// Warning describes a problem with the validity of the certificate; "" if nothing is.
func (i Info) Warning(now time.Time) string {
	switch left := i.Until.Sub(now); {
	case left <= 0:
		return fmt.Sprintf("expired on %s (this machine's time is %s)", stamp(i.Until), stamp(now))
	case now.Before(i.From):
		return fmt.Sprintf("is not valid before %s (this machine's time is %s)", stamp(i.From), stamp(now))
	case left < Soon:
		return fmt.Sprintf("expires on %s, in %d days", stamp(i.Until), int(left/(24*time.Hour)))
	default:
		return ""
	}
}
