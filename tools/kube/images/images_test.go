package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestImage makes an image twice: the archives are equal, and hold the files a pod needs.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "dbtester")
	if err := os.WriteFile(binary, []byte("an executable"), 0o700); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	root := filepath.Join(dir, "root")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "usr", "lib"), 0o755), os.Symlink("usr/lib", filepath.Join(root, "lib")), os.WriteFile(filepath.Join(root, "usr", "lib", "x.jar"), []byte("jar"), 0o644)); err != nil {
		t.Fatalf("write files for the test: %v", err)
	}
	var archives [2][]byte
	for i := range archives {
		if err := os.Chtimes(filepath.Join(root, "usr", "lib", "x.jar"), time.Time{}, time.Unix(int64(i)*1000, 0)); err != nil {
			t.Fatalf("change the time of a file: %v", err)
		}
		path := filepath.Join(dir, "image.tar")
		if err := write(binary, root, "dbtester:v1", "arm64", path); err != nil {
			t.Fatalf("write the image: %v", err)
		}
		var err error
		if archives[i], err = os.ReadFile(path); err != nil {
			t.Fatalf("read the image: %v", err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two images of one executable differ")
	}
	img, err := tarball.ImageFromPath(filepath.Join(dir, "image.tar"), nil)
	if err != nil {
		t.Fatalf("load the image: %v", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatalf("read its configuration: %v", err)
	}
	if c := config.Config; !slices.Equal(c.Entrypoint, []string{"/usr/bin/dbtester"}) || c.User != "65532:65532" || config.Architecture != "arm64" || config.OS != "linux" {
		t.Errorf("the configuration is %+v", config)
	}
	modes, contents, links := map[string]int64{}, map[string]string{}, map[string]string{}
	files := mutate.Extract(img)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read its files: %v", err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("read its files: %v", err)
		}
		name := strings.TrimSuffix(header.Name, "/")
		modes[name], contents[name], links[name] = header.Mode, string(data), header.Linkname
	}
	if contents["usr/bin/dbtester"] != "an executable" || modes["usr/bin/dbtester"] != 0o755 || modes["tmp"] != 0o1777 || contents["usr/lib/x.jar"] != "jar" || links["lib"] != "usr/lib" {
		t.Errorf("its files have the modes %v, the executable is %q", modes, contents["usr/bin/dbtester"])
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM([]byte(contents["etc/ssl/certs/ca-certificates.crt"])) || strings.Count(contents["etc/ssl/certs/ca-certificates.crt"], "BEGIN") < 50 {
		t.Error("it has too few roots of certificates")
	}
}

func TestWrong(t *testing.T) {
	if err := write(filepath.Join(t.TempDir(), "none"), "", "dbtester:v1", "amd64", "x.tar"); err == nil {
		t.Error("no error without an executable")
	}
	if err := write(os.Args[0], "", "Not A Tag", "amd64", "x.tar"); err == nil {
		t.Error("no error for a wrong tag")
	}
}
