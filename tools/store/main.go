// Command store serves the Google Cloud Storage and S3 protocols, to try uploads without an
// account. Objects are in memory and in a temporary folder, and end with it.
//
//	store -gs 127.0.0.1:4443 -s3 127.0.0.1:4444
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("store", flag.ContinueOnError)
	gs := flags.String("gs", "127.0.0.1:4443", "where Google Cloud Storage is served, for STORAGE_EMULATOR_HOST")
	s3 := flags.String("s3", "127.0.0.1:4444", "where S3 is served, for AWS_ENDPOINT_URL with http:// before it")
	bucket := flags.String("bucket", "bucket", "the bucket of both, which is empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "dbtester-store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	google, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, ExternalURL: "http://" + *gs, StorageRoot: folder, Writer: io.Discard,
	})
	if err != nil {
		return fmt.Errorf("make the store of Google: %w", err)
	}
	google.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: *bucket})
	memory := s3mem.New()
	if err := memory.CreateBucket(*bucket); err != nil {
		return fmt.Errorf("make the bucket of S3: %w", err)
	}
	ended := make(chan error, 2)
	for address, handler := range map[string]http.Handler{
		*gs: google.HTTPHandler(), *s3: gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server(),
	} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go func() { ended <- server.Serve(l) }()
	}
	fmt.Printf("the bucket %s is at %s (gs) and %s (s3)\n", *bucket, *gs, *s3)
	return <-ended
}
