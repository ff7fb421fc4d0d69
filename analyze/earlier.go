package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// mostEarlier bounds the bytes read from a file of an earlier report.
const mostEarlier = 256 << 20

// generator identifies our pages.
const generator = `<meta name="generator" content="dbtester">`

// pictureLink matches links to pictures in a page. Older reports had everything in one folder;
// their links have no folder.
var pictureLink = pattern.New(`href="(` + dirFigures + `/)?([^"/]+)\.svg"`)

// earlier returns the files that an earlier report wrote below the report folder, except the files
// at its top: the figures that its page links, their data, and the outputs for its runs and for
// plots with the given columns. It returns nothing without a page by us, or for the folder of a
// classic file, which may contain other reports.
func (out *output) earlier(columns []string) (files []string) {
	data, err := regularfile.Read(out.html, mostEarlier)
	if err != nil || out.figures == out.dir || !bytes.Contains(data, []byte(generator)) {
		return nil
	}
	var places []string // data folders
	for _, m := range pictureLink().FindAllStringSubmatch(string(data), -1) {
		name, err := url.PathUnescape(html.UnescapeString(m[2]))
		if err != nil || name != filepath.Base(name) {
			continue
		}
		pictures, place := out.dir, out.dir
		if m[1] != "" {
			pictures, place = out.figures, out.data
		}
		files = append(files, filepath.Join(pictures, name+".svg"), filepath.Join(pictures, name+".png"), filepath.Join(place, name+".csv"))
		columns = append(columns, name) // a time plot is named after its column
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	tags := out.earlierTags()
	for _, place := range places {
		for _, column := range columns {
			base := filepath.Join(place, column+partByClients)
			files = append(files, base+".csv", base+partMeans)
		}
		for _, tag := range tags {
			for _, logical := range append(ofAbilities(), fileAggregate, fileMemory, fileReads, fileWrites, fileTrace) {
				files = append(files, filepath.Join(place, nameOf(tag, logical)))
			}
		}
	}
	return files
}

// ofAbilities returns the names of files that abilities have about a run.
func ofAbilities() (names []string) {
	for _, half := range all.Halves() {
		if filer, ok := half.(abilities.Filer); ok {
			names = append(names, filer.FileNames()...)
		}
	}
	return names
}

// earlierTags returns the run tags in an earlier report, from its JSON file.
func (out *output) earlierTags() (tags []string) {
	var report struct {
		Table struct {
			Columns []struct {
				Tag string `json:"tag"`
			} `json:"columns"`
		} `json:"table"`
	}
	data, err := regularfile.Read(out.tableJSON, mostEarlier)
	if err != nil || json.Unmarshal(data, &report) != nil {
		return nil
	}
	for _, c := range report.Table.Columns {
		tags = append(tags, c.Tag)
	}
	return tags
}

// drop removes files of an earlier report that this report did not write again. It keeps records,
// and anything that is not a regular file.
func (out *output) drop(files []string) error {
	for _, path := range files {
		if slices.Contains(out.files, path) || out.check(path) != nil {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file of the earlier report: %w", err)
		}
	}
	return nil
}
