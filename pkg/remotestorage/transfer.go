package remotestorage

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Summary counts the files and bytes of a transfer.
type Summary struct {
	Files, Sent, Present int   // all, copied, and copied before
	Bytes, SentBytes     int64 // of all, of the copied
}

// Progress is how far a transfer is.
type Progress struct {
	Summary
	// Now is the name of the file in transfer, and Of how many of its bytes were
	// copied.
	Now string
	Of  int64
}

// reportEvery is the shortest interval between two reports.
const reportEvery = time.Second

// Folder names what [Upload] sends and where.
type Folder struct {
	Dir string
	// Name is the folder in the store; "" is the store's top.
	Name string
	// Last is the file that is sent after all others, so that its presence proves
	// theirs; "" for none.
	Last string
}

// RunName returns the name in a store of a run's folder on this machine: the last two
// elements of its path, which are the experiment's title and the time of the start. The
// time alone may be that of another experiment.
func RunName(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return strings.Trim(filepath.Base(filepath.Dir(abs))+"/"+filepath.Base(abs), "/"), nil
}

// File is a file of this machine and the name of its object in a store.
type File struct{ Path, Name string }

// Upload sends the regular files below a folder like [UploadFiles], in the order of
// their names.
func Upload(ctx context.Context, s Store, f Folder, report func(Progress)) (Summary, error) {
	files, err := filesOf(f)
	if err != nil {
		return Summary{}, err
	}
	return UploadFiles(ctx, s, files, report)
}

// UploadFiles sends files in their order, except those that the store has already. It
// stops at the first file that cannot be sent. The summary is right up to then. Report
// may be nil; it is called at most once a second.
func UploadFiles(ctx context.Context, s Store, files []File, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	if err := t.count(files); err != nil {
		return t.Summary, err
	}
	var there []Object
	err := again(ctx, func() (err error) {
		there, err = s.List(ctx, commonPrefix(files))
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	known := map[string]Object{}
	for _, o := range there {
		known[o.Name] = o
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return t.Summary, context.Cause(ctx)
		}
		o, present := known[f.Name]
		if err := t.upload(ctx, f.Path, f.Name, o, present); err != nil {
			return t.Summary, fmt.Errorf("upload %s: %w", f.Name, err)
		}
	}
	return t.Summary, nil
}

// commonPrefix is what the names of all files begin with, in whole characters.
func commonPrefix(files []File) string {
	if len(files) == 0 {
		return ""
	}
	prefix := files[0].Name
	for _, f := range files[1:] {
		for !strings.HasPrefix(f.Name, prefix) {
			_, size := utf8.DecodeLastRuneInString(prefix)
			prefix = prefix[:len(prefix)-size]
		}
	}
	return prefix
}

// transfer is one upload or download.
type transfer struct {
	Summary
	store  Store
	report func(Progress)
	said   time.Time
}

// filesOf lists the regular files of a folder. Files whose names begin with a dot are of
// this machine only.
func filesOf(f Folder) (files []File, err error) {
	err = filepath.WalkDir(f.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(f.Dir, p)
		files = append(files, File{p, path.Join(f.Name, filepath.ToSlash(rel))})
		return err
	})
	last := path.Join(f.Name, f.Last)
	if i := slices.IndexFunc(files, func(one File) bool { return one.Name == last }); i >= 0 {
		one := files[i]
		files = append(slices.Delete(files, i, i+1), one)
	}
	return files, err
}

// count adds up what is to be sent.
func (t *transfer) count(files []File) error {
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return err
		}
		t.Files++
		t.Bytes += info.Size()
	}
	return nil
}

// upload sends one file unless o, the object of its name if present, is the same.
func (t *transfer) upload(ctx context.Context, file, to string, o Object, present bool) error {
	c, err := inspect(file)
	if err != nil {
		return err
	}
	if present {
		err := again(ctx, func() (err error) {
			present, err = same(ctx, t.store, o, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	if present {
		t.Present++
		return nil
	}
	if err := again(ctx, func() error { return t.send(ctx, file, to, c) }); err != nil {
		return err
	}
	t.Sent++
	t.SentBytes += c.Size
	t.tell(to, 0)
	return nil
}

// send sends a file and compares what the store has then.
func (t *transfer) send(ctx context.Context, file, to string, c Content) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := t.store.Write(ctx, to, c, t.watch(f, to)); err != nil {
		return err
	}
	found, err := t.store.List(ctx, to)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(o Object) bool { return o.Name == to })
	if i < 0 {
		return fmt.Errorf("%w: it is not there", errDiffers)
	}
	if equal, err := same(ctx, t.store, found[i], c); err != nil || equal {
		return err
	}
	return errDiffers
}

// Download fetches every object of a store into a folder, which it makes, and
// compares sizes and checksums as far as the store gives them.
func Download(ctx context.Context, s Store, dir string, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	var objects []Object
	err := again(ctx, func() (err error) {
		objects, err = s.List(ctx, "")
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	for _, o := range objects {
		t.Files++
		t.Bytes += o.Size
	}
	for _, o := range objects {
		local := filepath.FromSlash(o.Name)
		if !filepath.IsLocal(local) {
			return t.Summary, fmt.Errorf("the name of an object must be a path below the folder, got %q", o.Name)
		}
		if err := again(ctx, func() error { return t.fetch(ctx, o, filepath.Join(dir, local)) }); err != nil {
			return t.Summary, fmt.Errorf("download %s: %w", o.Name, err)
		}
		t.Sent++
		t.SentBytes += o.Size
	}
	return t.Summary, nil
}

// DownloadFiles is [Download] of objects by name. Objects that the store does not have are
// left out: they are counted as files that were not sent.
func DownloadFiles(ctx context.Context, s Store, files []File, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	t.Files = len(files)
	var there []Object
	err := again(ctx, func() (err error) {
		there, err = s.List(ctx, commonPrefix(files))
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	for _, f := range files {
		i := slices.IndexFunc(there, func(o Object) bool { return o.Name == f.Name })
		if i < 0 {
			continue
		}
		o := there[i]
		if err := again(ctx, func() error { return t.fetch(ctx, o, f.Path) }); err != nil {
			return t.Summary, fmt.Errorf("download %s: %w", f.Name, err)
		}
		t.Sent++
		t.Bytes += o.Size
		t.SentBytes += o.Size
	}
	return t.Summary, nil
}

// fetch fetches one object into a file.
func (t *transfer) fetch(ctx context.Context, o Object, file string) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	r, err := t.store.Read(ctx, o.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := md5.New()
	n, err := io.Copy(io.MultiWriter(f, sum), t.watch(r, o.Name))
	switch {
	case err != nil:
		return err
	case n != o.Size, o.MD5 != nil && o.ETag == "" && !bytes.Equal(o.MD5, sum.Sum(nil)):
		return fmt.Errorf("%w: %d of %d bytes were read", errDiffers, n, o.Size)
	}
	return nil
}

// watch reports while r is read.
func (t *transfer) watch(r io.Reader, name string) io.Reader {
	return &watched{Reader: r, report: func(n int64) { t.tell(name, n) }}
}

// tell reports unless it did so within the last second.
func (t *transfer) tell(name string, of int64) {
	if now := time.Now(); t.report != nil && now.Sub(t.said) >= reportEvery {
		t.said = now
		t.report(Progress{t.Summary, strings.TrimPrefix(name, "/"), of})
	}
}

type watched struct {
	io.Reader
	read   int64
	report func(int64)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.read += int64(n)
	w.report(w.read)
	return n, err
}
