package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
)

// maxPath bounds a path in a request, in bytes.
const maxPath = 4096

// tlsOf returns the files a member is to serve with, nil for plaintext. The paths come from the
// wire and end up in arguments and configuration files: they must be plain and name existing files.
// It reports all problems.
func tlsOf(db database.Database, req *pb.StartRequest) (*database.TLS, error) {
	files := &database.TLS{CA: req.GetTlsCa(), Cert: req.GetTlsCert(), Key: req.GetTlsKey()}
	if *files == (database.TLS{}) {
		return nil, nil
	}
	if !db.Info.TLS {
		return nil, fmt.Errorf("%s speaks no TLS", db.Name)
	}
	var problems []error
	for _, f := range []struct{ name, path string }{{"ca", files.CA}, {"cert", files.Cert}, {"key", files.Key}} {
		problems = append(problems, checkPEM(f.name, f.path))
	}
	return files, errors.Join(problems...)
}

func checkPEM(name, path string) error {
	switch {
	case path == "":
		return fmt.Errorf("tls %s is missing: a member needs all three files", name)
	case !tenant.Printable(path, maxPath) || !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fmt.Errorf("tls %s %q is not a plain absolute path", name, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("tls %s on the agent's machine: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("tls %s on the agent's machine: %q is not a file", name, path)
	}
	return nil
}
