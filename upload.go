package dbtester

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
)

// uploadRun copies a result folder to the destination in its experiment, the manifest
// last. It is the uploader of [Config.Run].
func uploadRun(ctx context.Context, dir string, to config.Upload, report func(text string)) (err error) {
	store, err := openStore(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	name, err := remotestorage.RunName(dir)
	if err != nil {
		return err
	}
	sum, err := remotestorage.Upload(ctx, store, remotestorage.Folder{Dir: dir, Name: name, Last: results.FileManifest}, nil)
	if err != nil {
		return err
	}
	report(fmt.Sprintf("uploaded %d files of %d to %s, folder %s; the others were there", sum.Sent, sum.Files, to.URL, name))
	return nil
}

func openStore(ctx context.Context, to config.Upload) (*remotestorage.Bucket, error) {
	return remotestorage.Open(ctx, to.URL, remotestorage.Options{KeyFile: to.KeyFile, Project: to.Project})
}
