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

// archive writes a compressed tar file that does not depend on machine or time: it has only files,
// all with the same mode, owner and date. A nil archive discards everything.
type archive struct {
	packed *gzip.Writer
	files  *tar.Writer
	folder string
	// copies is a folder that receives a copy of each file.
	copies string
}

func newArchive(w io.Writer, folder, copies string) *archive {
	packed, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // a valid level, so no error
	return &archive{packed, tar.NewWriter(packed), folder, copies}
}

// add adds a file to the folder in the archive.
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
