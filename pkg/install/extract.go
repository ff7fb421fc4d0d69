package install

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxEntries limits the number of entries in an archive.
const maxEntries = 200_000

// extraction unpacks parts of an archive into a directory. Archives are untrusted: any entry
// outside its own folder, kept or not, and any link that leads out make it fail.
type extraction struct {
	top   string   // the folder that contains everything to keep; it is not part of the result
	keep  []string // files and folders below top
	limit int64    // unpacked bytes

	root    *os.Root
	seen    []string // the first elements of paths, for the error
	found   map[string]bool
	entries int
	written int64
}

// entry is a file, folder or link in an archive, whatever the format.
type entry struct {
	name   string
	mode   fs.FileMode
	target string // for a symbolic link
	hard   bool   // for a hard link
	open   func() (io.ReadCloser, error)
}

// run unpacks file into dir.
func (x *extraction) run(ctx context.Context, file, dir string) (err error) {
	x.root, err = os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.root.Close()) }()
	x.found = map[string]bool{}
	walk := walkTar
	switch {
	case strings.HasSuffix(file, ".zip"):
		walk = walkZip
	case !strings.HasSuffix(file, ".tar.gz") && !strings.HasSuffix(file, ".tgz"):
		return fmt.Errorf("its name must end in .tar.gz, .tgz or .zip")
	}
	if err := walk(file, func(e entry) error { return x.one(ctx, e) }); err != nil {
		return err
	}
	for _, k := range x.keep {
		if !x.found[k] {
			return fmt.Errorf("it has no %s (at its top: %s)", path.Join(x.top, k), strings.Join(x.seen, ", "))
		}
	}
	return x.checkLinks()
}

// one handles one entry.
func (x *extraction) one(ctx context.Context, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if x.entries++; x.entries > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	name := path.Clean(strings.TrimSuffix(e.name, "/"))
	if !filepath.IsLocal(name) {
		return fmt.Errorf("entry %q leads out of the archive", e.name)
	}
	if e.target != "" && (path.IsAbs(e.target) || !filepath.IsLocal(path.Join(path.Dir(name), e.target))) {
		return fmt.Errorf("link %q leads out of the archive, to %q", e.name, e.target)
	}
	first, _, _ := strings.Cut(name, "/")
	if !slices.Contains(x.seen, first) && len(x.seen) < 10 {
		x.seen = append(x.seen, first)
	}
	rel, kept := x.kept(name)
	if !kept {
		return nil
	}
	switch {
	case e.mode.IsDir():
		return x.root.MkdirAll(rel, 0o755)
	case e.hard:
		return fmt.Errorf("entry %q is a hard link", e.name)
	case e.target != "":
		return x.link(rel, e.target)
	case e.mode.IsRegular():
		return x.write(ctx, rel, e)
	default:
		return fmt.Errorf("entry %q is neither a file, a folder nor a link", e.name)
	}
}

// kept returns the path of the entry in the result, and whether it should be kept.
func (x *extraction) kept(name string) (string, bool) {
	rel := name
	if x.top != "" {
		below, ok := strings.CutPrefix(name, x.top+"/")
		if !ok {
			return "", false
		}
		rel = below
	}
	kept := false
	for _, k := range x.keep {
		if rel == k || strings.HasPrefix(rel, k+"/") {
			x.found[k], kept = true, true
		}
	}
	return rel, kept
}

// link makes a symbolic link. checkLinks follows it later, once all files exist.
func (x *extraction) link(rel, target string) error {
	if err := x.root.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return err
	}
	return x.root.Symlink(target, rel)
}

// checkLinks follows every link. This has to wait until all links exist, because a link may lead
// through others. The root refuses to follow a link that leads out.
func (x *extraction) checkLinks() error {
	return fs.WalkDir(x.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if _, err := x.root.Stat(p); err != nil {
			return fmt.Errorf("link %q leads to nothing in the release: %w", p, err)
		}
		return nil
	})
}

// write unpacks one file.
func (x *extraction) write(ctx context.Context, rel string, e entry) error {
	if err := x.root.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return err
	}
	from, err := e.open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := x.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|e.mode.Perm()&0o111)
	if err != nil {
		return err
	}
	left := x.limit - x.written
	n, err := io.Copy(to, io.LimitReader(ctxReader{ctx, from}, left+1))
	x.written += n
	if err == nil && n > left {
		err = fmt.Errorf("unpacked %w", tooLarge(x.limit))
	}
	return errors.Join(err, to.Close())
}

// walkTar calls each for every entry in a .tar.gz file.
func walkTar(file string, each func(entry) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		e := entry{name: h.Name, mode: h.FileInfo().Mode(), hard: h.Typeflag == tar.TypeLink}
		if h.Typeflag == tar.TypeSymlink {
			e.target = h.Linkname
		}
		e.open = func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
		if err := each(e); err != nil {
			return err
		}
	}
}

// walkZip calls each for every entry in a .zip file.
func walkZip(file string, each func(entry) error) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		e := entry{name: f.Name, mode: f.Mode(), open: f.Open}
		if e.mode&fs.ModeSymlink != 0 {
			if e.target, err = zipTarget(f); err != nil {
				return err
			}
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// zipTarget reads the target of the link f, which is its content in a .zip file.
func zipTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, 4096))
	return string(data), err
}
