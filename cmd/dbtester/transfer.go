package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/remotestorage"
)

func joinURL(address, name string) string { return strings.TrimRight(address, "/") + "/" + name }

// offerCreate names the flag that creates a missing bucket.
func offerCreate(err error) error {
	if errors.Is(err, remotestorage.ErrNoBucket) {
		return fmt.Errorf("%w (--create-bucket makes it)", err)
	}
	return err
}

// withInterrupt adds the cause of ctx to err, if ctx has ended.
func withInterrupt(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}
	return err
}

// registerCreate adds the flag that creates the bucket. Without it no bucket is created.
func registerCreate(flags *pflag.FlagSet, create *bool) {
	flags.BoolVar(create, "create-bucket", false, "create the bucket, or the folder of file://, if it does not exist")
}

func registerProject(flags *pflag.FlagSet, project *string) {
	flags.StringVar(project, "project", "", "project of a bucket of gs:// that --create-bucket creates")
}

// transferLine describes how far a transfer is.
func transferLine(what string, p remotestorage.Progress) string {
	line := fmt.Sprintf("%s: %d of %s, %s of %s", what, p.Sent+p.Present, english.Plural(p.Files, "file", ""),
		humanize.Bytes(uint64(p.SentBytes)), humanize.Bytes(uint64(p.Bytes)))
	if p.Of == 0 {
		return line // between two files
	}
	return line + fmt.Sprintf("; now %s (%s)", p.Now, humanize.Bytes(uint64(p.Of)))
}
