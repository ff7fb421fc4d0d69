package generator

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Secrets are what a generator may read for the clients of a load, whoever sends the request. The
// zero value allows nothing.
type Secrets struct {
	// Dirs are absolute folder paths. Files are read only below them, even through links.
	Dirs []string
	// Variables are names of environment variables.
	Variables []string
}

// check returns why files and variables a request names may not be read. It accesses no path
// outside the folders.
func (s Secrets) check(req *pb.PrepareRequest) error {
	var refused, errs []error
	var folders []string
	for _, file := range []struct{ name, path string }{
		{"tls ca", req.GetTls().GetCa()}, {"tls cert", req.GetTls().GetCert()}, {"tls key", req.GetTls().GetKey()}, {"auth password file", req.GetAuth().GetPasswordFile()},
	} {
		if file.path == "" {
			continue
		}
		if err := checkPath(file.name, file.path); err != nil {
			errs = append(errs, err)
		} else if err := s.below(file.path); err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", file.name, err))
			if dir := filepath.Dir(file.path); !slices.Contains(folders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	var flags []string
	if len(folders) > 0 {
		flags = append(flags, "--secrets-dir "+strings.Join(folders, ","))
	}
	if v := req.GetAuth().GetPasswordEnv(); req.GetAuth().GetPasswordFile() == "" && v != "" && !slices.Contains(s.Variables, v) {
		refused = append(refused, fmt.Errorf("auth: the variable %q is none of those that it may read", v))
		flags = append(flags, "--secrets-env "+v)
	}
	switch {
	case len(errs) > 0:
		return status.Error(codes.InvalidArgument, errors.Join(errs...).Error())
	case len(refused) > 0:
		return status.Errorf(codes.PermissionDenied, "this generator may not read what the experiment names: %v; if it may, start its agent with %s",
			strings.ReplaceAll(errors.Join(refused...).Error(), "\n", "; "), strings.Join(flags, " "))
	}
	return nil
}

// below returns why a plain absolute path does not lie below any folder.
func (s Secrets) below(path string) error {
	for _, dir := range s.Dirs {
		if !inside(dir, path) {
			continue
		}
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil //nolint:nilerr // reading it says why not
		}
		if inside(realDir, real) {
			return nil
		}
		return fmt.Errorf("%q leads out of %q", path, dir)
	}
	if len(s.Dirs) == 0 {
		return fmt.Errorf("%q: it reads no files of secrets", path)
	}
	return fmt.Errorf("%q is not below %s", path, strings.Join(s.Dirs, " or "))
}

// inside reports whether path lies below dir, judging only by the text.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}
