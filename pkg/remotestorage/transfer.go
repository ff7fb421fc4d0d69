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
	"unicode"
	"unicode/utf8"
)

// Summary counts the files and bytes in a transfer.
type Summary struct {
	Files, Sent, Present int   // total, copied, and already present
	Bytes, SentBytes     int64 // total, and copied
}

// Progress is the state of a transfer.
type Progress struct {
	Summary
	// Now is the file in transfer, and Of the number of its bytes copied so far.
	Now string
	Of  int64
}

// reportEvery is the minimum interval between two reports.
const reportEvery = time.Second

// Folder describes the files that [Upload] sends and their destination.
type Folder struct {
	Dir string
	// Name is the folder in the store; "" is the root of the store.
	Name string
	// Last is a file to send after all others, so that its presence proves that the upload is
	// complete, or "".
	Last string
}

// RunName returns the store name for the run folder on this machine: the last two elements of its
// path, which are the experiment title and the start time. The time alone could be another
// experiment's.
func RunName(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return strings.Trim(filepath.Base(filepath.Dir(abs))+"/"+filepath.Base(abs), "/"), nil
}

// File pairs a local file with its object name in a store.
type File struct{ Path, Name string }

// Upload sends the regular files below a folder, sorted by name, like [UploadFiles].
func Upload(ctx context.Context, s Store, f Folder, report func(Progress)) (Summary, error) {
	files, err := filesOf(f)
	if err != nil {
		return Summary{}, err
	}
	return UploadFiles(ctx, s, files, report)
}

// UploadFiles sends files in order, skipping those the store already has. It stops at the first
// file that cannot be sent; the summary then covers the files before it. report may be nil; it is
// called at most once per second.
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

// commonPrefix returns the longest prefix that all names share, in whole characters.
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

// filesOf lists the regular files in the folder. Files whose names begin with a dot stay on this
// machine.
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

// count adds up the files to send.
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

// upload sends a file unless the existing object o, if present, is equal.
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

// send sends a file and compares it with the stored object.
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

// Download fetches every object in a store into a folder, which it creates, and compares sizes and
// checksums as far as the store provides them.
func Download(ctx context.Context, s Store, dir string, most Bounds, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	var objects []Object
	err := again(ctx, func() (err error) {
		objects, err = s.List(ctx, "")
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	if err := t.admit(objects, most); err != nil {
		return t.Summary, err
	}
	err = t.fetchAll(ctx, objects, func(o Object) string { return filepath.Join(dir, filepath.FromSlash(o.Name)) })
	return t.Summary, err
}

// Bounds limit a download from a store, which others may have filled.
type Bounds struct {
	Objects int
	Bytes   int64
}

// admit counts the objects to fetch, and refuses names that are no paths below a folder, and more
// than the bounds.
func (t *transfer) admit(objects []Object, most Bounds) error {
	if len(objects) > most.Objects {
		return fmt.Errorf("%w: it has %d objects, and at most %d are fetched", ErrBounds, len(objects), most.Objects)
	}
	for _, o := range objects {
		if !filepath.IsLocal(filepath.FromSlash(o.Name)) || strings.ContainsFunc(o.Name, unicode.IsControl) {
			return fmt.Errorf("the name of an object must be a path below the folder, got %q", o.Name)
		}
		if o.Size < 0 || o.Size > most.Bytes-t.Bytes {
			return fmt.Errorf("%w: its objects have more than %d bytes, and no more are fetched", ErrBounds, most.Bytes)
		}
		t.Files++
		t.Bytes += o.Size
	}
	return nil
}

// DownloadFiles is like [Download], but fetches objects by name; only those count for the bounds.
// Missing objects are skipped: they count as files that were not sent.
func DownloadFiles(ctx context.Context, s Store, files []File, most Bounds, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	var there []Object
	err := again(ctx, func() (err error) {
		there, err = s.List(ctx, commonPrefix(files))
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	paths := make(map[string]string, len(files))
	for _, f := range files {
		paths[f.Name] = f.Path
	}
	wanted := slices.DeleteFunc(there, func(o Object) bool { return paths[o.Name] == "" })
	if err := t.admit(wanted, most); err != nil {
		return t.Summary, err
	}
	t.Files = len(files)
	err = t.fetchAll(ctx, wanted, func(o Object) string { return paths[o.Name] })
	return t.Summary, err
}

// fetchAll fetches objects, each into the file that to names.
func (t *transfer) fetchAll(ctx context.Context, objects []Object, to func(Object) string) error {
	for _, o := range objects {
		if err := again(ctx, func() error { return t.fetch(ctx, o, to(o)) }); err != nil {
			return fmt.Errorf("download %s: %w", o.Name, err)
		}
		t.Sent++
		t.SentBytes += o.Size
	}
	return nil
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
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(t.watch(r, o.Name), o.Size+1)) // the store may send more than it listed
	switch {
	case err != nil:
		return err
	case n != o.Size, o.MD5 != nil && o.ETag == "" && !bytes.Equal(o.MD5, sum.Sum(nil)):
		return fmt.Errorf("%w: %d of %d bytes were read", errDiffers, n, o.Size)
	}
	return nil
}

// watch reports progress while r is read.
func (t *transfer) watch(r io.Reader, name string) io.Reader {
	return &watched{Reader: r, report: func(n int64) { t.tell(name, n) }}
}

// tell reports progress at most once a second.
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
