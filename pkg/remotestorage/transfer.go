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

// Upload sends the regular files below a folder, in the order of their names,
// except those that the store has already. It stops at the first file that cannot be
// sent. The summary is right up to then. Report may be nil; it is called at most
// once a second.
func Upload(ctx context.Context, s Store, f Folder, report func(Progress)) (Summary, error) {
	t := &transfer{store: s, report: report}
	names, err := t.files(f)
	if err != nil {
		return t.Summary, err
	}
	var there []Object
	err = again(ctx, func() (err error) {
		there, err = s.List(ctx, folderPrefix(f.Name))
		return err
	})
	if err != nil {
		return t.Summary, err
	}
	known := map[string]Object{}
	for _, o := range there {
		known[o.Name] = o
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return t.Summary, context.Cause(ctx)
		}
		to := path.Join(f.Name, name)
		o, present := known[to]
		if err := t.upload(ctx, filepath.Join(f.Dir, filepath.FromSlash(name)), to, o, present); err != nil {
			return t.Summary, fmt.Errorf("upload %s: %w", name, err)
		}
	}
	return t.Summary, nil
}

func folderPrefix(name string) string {
	if name == "" {
		return ""
	}
	return name + "/"
}

// transfer is one upload or download.
type transfer struct {
	Summary
	store  Store
	report func(Progress)
	said   time.Time
}

// files lists what is to be sent and adds up its size. Files whose names begin with a
// dot are of this machine only.
func (t *transfer) files(f Folder) (names []string, err error) {
	err = filepath.WalkDir(f.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Dir, p)
		names = append(names, filepath.ToSlash(rel))
		t.Files++
		t.Bytes += info.Size()
		return err
	})
	if i := slices.Index(names, f.Last); i >= 0 {
		names = append(slices.Delete(names, i, i+1), f.Last)
	}
	return names, err
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
	objects, err := s.List(ctx, "")
	if err != nil {
		return t.Summary, err
	}
	for _, o := range objects {
		t.Files++
		t.Bytes += o.Size
	}
	for _, o := range objects {
		if err := again(ctx, func() error { return t.fetch(ctx, o, dir) }); err != nil {
			return t.Summary, fmt.Errorf("download %s: %w", o.Name, err)
		}
		t.Sent++
		t.SentBytes += o.Size
	}
	return t.Summary, nil
}

// fetch fetches one object.
func (t *transfer) fetch(ctx context.Context, o Object, dir string) (err error) {
	local := filepath.FromSlash(o.Name)
	if !filepath.IsLocal(local) {
		return fmt.Errorf("the name of an object must be a path below the folder, got %q", o.Name)
	}
	file := filepath.Join(dir, local)
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
