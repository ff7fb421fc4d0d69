package certs

import (
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// File names. The folder of a CA holds FileCA, its key, and a folder for each party. The folder of
// a party holds FileCA, FileCert and FileKey.
const (
	FileCA     = "ca.pem"
	FileCAKey  = "ca-key.pem"
	FileCert   = "cert.pem"
	FileKey    = "key.pem"
	DirControl = "control"
	// prefixAgent begins the folder name for an agent, followed by its first address.
	prefixAgent = "agent-"
)

// Folder holds a CA and the certificates it issued. Its methods are not safe for concurrent use.
type Folder struct {
	Path string
	// Force allows existing files to be replaced.
	Force bool
	// Life is the validity of issued certificates; 0 means [DefaultLife].
	Life time.Duration
	// Now is when certificates are created.
	Now time.Time
}

// Init makes a CA, control's certificate, and one certificate per host. It returns the folders of
// the parties, control first. If it would replace an existing file and Force is not set, it writes
// nothing.
func (f Folder) Init(hosts []string) ([]string, error) {
	if len(hosts) == 0 {
		return nil, errors.New("name the hosts that the agents run on")
	}
	ca, err := NewAuthority(f.Now, f.life())
	if err != nil {
		return nil, err
	}
	list := []party{{dir: DirControl}}
	for _, host := range hosts {
		list = append(list, party{dir: prefixAgent + host, hosts: []string{host}})
	}
	for i := range list {
		if list[i].pair, err = list[i].issue(ca, f); err != nil {
			return nil, err
		}
	}
	pair, err := encode(ca.cert, ca.key)
	if err != nil {
		return nil, err
	}
	if err := f.mayWrite(append(list, party{dir: "."})); err != nil {
		return nil, err
	}
	if err := f.put(f.Path, FileCAKey, FileCA, pair); err != nil {
		return nil, err
	}
	return f.writeAll(list, pair.Cert)
}

// IssueAgent issues a certificate for an agent reached at any of the addresses, and returns its
// folder, which is named after the first address.
func (f Folder) IssueAgent(hosts []string) (string, error) {
	if len(hosts) == 0 {
		return "", errors.New("name a host that the agent runs on")
	}
	return f.issue(party{dir: prefixAgent + hosts[0], hosts: hosts})
}

// IssueControl issues a certificate for control and returns its folder.
func (f Folder) IssueControl() (string, error) { return f.issue(party{dir: DirControl}) }

func (f Folder) issue(p party) (string, error) {
	ca, text, err := f.open()
	if err != nil {
		return "", err
	}
	if p.pair, err = p.issue(ca, f); err != nil {
		return "", err
	}
	if err := f.mayWrite([]party{p}); err != nil {
		return "", err
	}
	dirs, err := f.writeAll([]party{p}, text)
	if err != nil {
		return "", err
	}
	return dirs[0], nil
}

// party is an agent or control that holds a certificate.
type party struct {
	dir   string   // below the CA folder
	hosts []string // nil for control
	pair  Pair
}

func (p party) issue(ca *Authority, f Folder) (Pair, error) {
	if p.hosts == nil {
		return ca.Control(f.Now, f.life())
	}
	return ca.Agent(p.hosts, f.Now, f.life())
}

func (f Folder) life() time.Duration {
	if f.Life == 0 {
		return DefaultLife
	}
	return f.Life
}

// open reads the CA. It also returns its certificate as PEM.
func (f Folder) open() (*Authority, []byte, error) {
	files := Files{Cert: filepath.Join(f.Path, FileCA), Key: filepath.Join(f.Path, FileCAKey)}
	text, err := read(files.Cert)
	if err != nil {
		return nil, nil, fmt.Errorf("no CA in %q (dbtester certs init makes one): %w", f.Path, err)
	}
	key, err := readKey(files.Key)
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(text, key)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s with %s: %w", files.Cert, files.Key, err)
	}
	signer, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, fmt.Errorf("%s is not a CA made by dbtester", files.Cert)
	}
	return &Authority{cert: pair.Leaf, key: signer}, text, nil
}

// mayWrite returns an error that names every file in the way.
func (f Folder) mayWrite(list []party) error {
	if f.Force {
		return nil
	}
	var found []string
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.dir] {
			return fmt.Errorf("host %q is given twice", strings.TrimPrefix(p.dir, prefixAgent))
		}
		seen[p.dir] = true
		for _, name := range []string{FileCA, FileCAKey, FileCert, FileKey} {
			if path := filepath.Join(f.Path, p.dir, name); exists(path) {
				found = append(found, path)
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: %w (--force replaces them)", strings.Join(found, ", "), fs.ErrExist)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writeAll writes the party folders and returns their paths.
func (f Folder) writeAll(list []party, ca []byte) (dirs []string, err error) {
	for _, p := range list {
		dir := filepath.Join(f.Path, p.dir)
		if err := f.put(dir, FileKey, FileCert, p.pair); err != nil {
			return nil, err
		}
		if err := wholefile.Write(filepath.Join(dir, FileCA), wholefile.Bytes(ca)); err != nil {
			return nil, fmt.Errorf("write certificate: %w", err)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// put writes a key, then its certificate.
func (f Folder) put(dir, key, cert string, pair Pair) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder for certificates: %w", err)
	}
	write := wholefile.CreatePrivate
	if f.Force {
		write = wholefile.WritePrivate
	}
	if err := write(filepath.Join(dir, key), wholefile.Bytes(pair.Key)); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := wholefile.Write(filepath.Join(dir, cert), wholefile.Bytes(pair.Cert)); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return nil
}
