package submission

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archive writes a tar file, compressed, in which nothing depends on the machine or the
// time: files alone, with one mode, owner and date. A nil one drops what it is given.
type archive struct {
	packed *gzip.Writer
	files  *tar.Writer
	folder string
	// copies is a folder that gets a copy of each file.
	copies string
}

func newArchive(w io.Writer, folder, copies string) *archive {
	packed, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is one of gzip's
	return &archive{packed, tar.NewWriter(packed), folder, copies}
}

// add adds a file below the archive's folder.
func (a *archive) add(name string, data []byte) error {
	if a == nil {
		return nil
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(a.folder, name), Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := a.files.WriteHeader(header); err != nil {
		return err
	}
	if _, err := a.files.Write(data); err != nil {
		return err
	}
	to := filepath.Join(a.copies, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

func (a *archive) close() error { return errors.Join(a.files.Close(), a.packed.Close()) }
