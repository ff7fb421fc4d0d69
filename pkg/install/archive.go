package install

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// obtainArchive fetches the checksum first, then the archive, and unpacks only an archive that
// matches it.
func (s *stage) obtainArchive(ctx context.Context, a recipe.Archive) error {
	url, sumURL := recipe.Expand(a.URL, s.id.version), recipe.Expand(a.ChecksumURL, s.id.version)
	base := path.Base(url)
	f, release := s.newFetcher()
	defer release()
	text, err := f.text(ctx, sumURL)
	if err != nil {
		return err
	}
	published, err := parseSums(text)
	if err != nil {
		return fmt.Errorf("read the checksums of %s: %w", sumURL, err)
	}
	want, err := published.of(base)
	if err != nil {
		return fmt.Errorf("read the checksums of %s: %w", sumURL, err)
	}
	file := filepath.Join(s.work, base)
	got, err := f.file(ctx, url, file, want.newHash)
	if err != nil {
		return err
	}
	if err := want.check(base, got); err != nil {
		return err
	}
	x := extraction{
		top:   recipe.Expand(a.TopFolder, s.id.version),
		keep:  slices.Sorted(maps.Values(a.Files)),
		limit: s.in.maxBytes(),
	}
	if err := x.run(ctx, file, s.dir); err != nil {
		return fmt.Errorf("unpack %s: %w", base, err)
	}
	s.source = url
	return nil
}
