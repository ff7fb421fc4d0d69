package dbtester

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
)

// DiskSpaceUsageSummaryColumns are the columns written by [Config.SaveDiskSpaceUsageSummary], in
// order. This module does not read it.
var DiskSpaceUsageSummaryColumns = results.DiskColumns()

// SaveDiskSpaceUsageSummary writes the size of each member's data after a Stop by
// [Config.BroadcastRequest], as CSV: to the path in the experiment file
// (server_disk_space_usage_summary_path), else next to the records from the Stop. The field for a
// member that was not measured is empty.
func (c *Config) SaveDiskSpaceUsageSummary(id string, responses map[int]Response) error {
	_, db, err := c.one(id)
	if err != nil {
		return err
	}
	path := c.Experiment.ExportOf(db.Tag)[results.FileDisk]
	var members []results.Member
	for _, i := range slices.Sorted(maps.Keys(responses)) {
		r := responses[i]
		m := results.Member{Index: i, Endpoint: r.Endpoint}
		if r.DiskSpaceUsageBytes >= 0 {
			m.Disk = &results.Disk{ApparentBytes: r.DiskSpaceUsageBytes}
		}
		members = append(members, m)
		if path == "" && r.Folder != "" {
			path = filepath.Join(r.Folder, results.FileDisk)
		}
	}
	if path == "" {
		return fmt.Errorf("save disk usage of %s: the experiment file names no path for it, and the responses name no folder", id)
	}
	return replace(path, results.DiskTable(members))
}

// WriteREADME writes the README named in a classic file (analyze_readme), with a finished table:
// the Text returned by [Config.Analyze], or another one.
func (c *Config) WriteREADME(summary string) error {
	e := c.Experiment
	if e.Report.README == "" {
		return errors.New("write README: the experiment file names none (analyze_readme: output_path)")
	}
	var images []analyze.Image
	for _, i := range e.Report.Images {
		images = append(images, analyze.Image(i))
	}
	text, err := analyze.ClassicREADME(e.Title, e.Description, strings.TrimRight(summary, "\n")+"\n", images)
	if err != nil {
		return err
	}
	return replace(e.Report.README, []byte(text))
}

// UploadToGoogle copies one file to the destination in the experiment, which may be in Google Cloud
// Storage, in S3 or a folder, unless the file is already there. The object is named by the database
// tag and the file: etcd-v3.3.0-client-control.log.
func (c *Config) UploadToGoogle(ctx context.Context, id, path string) (err error) {
	e, db, err := c.one(id)
	if err != nil {
		return err
	}
	if e.Upload == nil {
		return fmt.Errorf("upload %s: the experiment file names no place for uploads", path)
	}
	store, err := openStore(ctx, *e.Upload)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	name := db.Tag + "-" + strings.TrimPrefix(filepath.Base(path), db.Tag+"-")
	_, err = remotestorage.UploadFiles(ctx, store, []remotestorage.File{{Path: path, Name: name}}, nil)
	return err
}

// replace creates or replaces a file, and creates its folder.
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return wholefile.Write(path, wholefile.Bytes(data))
}
