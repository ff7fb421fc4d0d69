// Command images writes the dbtester image as an archive that docker load, podman load and ctr
// images import take. It needs no daemon and no registry, and gives the same bytes for the same
// executable: no time and no machine-dependent order enters the archive.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	binary := flag.String("binary", "../../bin/dbtester", "static executable of dbtester")
	tag := flag.String("tag", "dbtester:dev", "name and tag of the image")
	arch := flag.String("arch", "amd64", "processor architecture of the executable, as Go names it")
	root := flag.String("root", "", "folder of a file system to put below the executable, such as that of Java; none without")
	out := flag.String("out", "../../bin/images/dbtester.tar", "archive to write")
	flag.Parse()
	if err := write(*binary, *root, *tag, *arch, *out); err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
}

// write writes the image for an executable and prints the archive checksum.
func write(binary, root, tag, arch, out string) error {
	executable, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the executable: %w", err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	img, err := image(executable, root, arch)
	if err != nil {
		return fmt.Errorf("make the image: %w", err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(ref, img, &archive); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(out, archive.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Printf("%x  %s (%s, %d bytes)\n", sha256.Sum256(archive.Bytes()), out, ref, archive.Len())
	return nil
}

// image returns the executable as an image, with the root certificates that uploads and
// installs need, and a user. If root is not "", its files are the lower layer.
func image(executable []byte, root, arch string) (v1.Image, error) {
	own, err := layer(executable)
	if err != nil {
		return nil, err
	}
	contents := [][]byte{own}
	if root != "" {
		below, err := tree(root)
		if err != nil {
			return nil, err
		}
		contents = [][]byte{below, own}
	}
	img := empty.Image
	for _, files := range contents {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
			tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/dbtester"}, User: fmt.Sprintf("%d:%d", user, user), WorkingDir: "/",
		Env: []string{"PATH=/usr/lib/jvm/java-17-openjdk-" + arch + "/bin:/usr/bin", "HOME=/tmp"},
	}
	return mutate.ConfigFile(img, config)
}

// user must be the UID that pods in the manifests run as.
const user = 65532

// layer returns the file system of the image, as a tar file.
func layer(executable []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"etc", 0o755}, {"etc/ssl", 0o755}, {"etc/ssl/certs", 0o755}, {"tmp", 0o1777}, {"usr", 0o755}, {"usr/bin", 0o755}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name + "/", Mode: dir.mode, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
	}
	for _, file := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\ndbtester:x:%d:%d:dbtester:/tmp:/sbin/nologin\n", user, user)},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		{"usr/bin/dbtester", 0o755, executable},
	} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(file.data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// tree returns the files below a folder as a tar file, ordered by name, all owned by root and
// without times. Devices, sockets and the like are left out.
func tree(root string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		header := tar.Header{Name: filepath.ToSlash(rel), Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
		var data []byte
		switch {
		case d.IsDir():
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		case d.Type() == fs.ModeSymlink:
			header.Typeflag = tar.TypeSymlink
			if header.Linkname, err = os.Readlink(path); err != nil {
				return err
			}
		case d.Type().IsRegular():
			header.Typeflag = tar.TypeReg
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
			header.Size = int64(len(data))
		default:
			return nil
		}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// roots are the certificates Mozilla trusts, without those it restricts.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return out.Bytes()
}
