package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"gocloud.dev/blob/gcsblob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// clientAttempts limits how often a client sends the same request.
const clientAttempts = 4

// answerTimeout limits the wait for a response's header after the request was sent completely.
const answerTimeout = time.Minute

// openGCS opens a Google Cloud Storage bucket, or one on the emulator at STORAGE_EMULATOR_HOST,
// which needs no credentials.
func openGCS(ctx context.Context, at location, o Options) (*Bucket, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = answerTimeout
	tokens, err := googleTokens(ctx, o.KeyFile)
	if err != nil {
		return nil, err
	}
	hc := &http.Client{Transport: base}
	if tokens != nil {
		hc.Transport = &oauth2.Transport{Source: tokens, Base: base}
	}
	client, err := storage.NewClient(ctx, option.WithHTTPClient(hc), storage.WithJSONReads())
	if err != nil {
		return nil, err
	}
	// Uploads always write the same bytes to the same name, so every request may be retried.
	client.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(clientAttempts),
		storage.WithBackoff(gax.Backoff{Initial: 500 * time.Millisecond, Max: 8 * time.Second, Multiplier: 2}))
	if o.Create {
		bucket := client.Bucket(at.bucket)
		if _, err := bucket.Attrs(ctx); errors.Is(err, storage.ErrBucketNotExist) {
			if err := bucket.Create(ctx, o.Project, nil); err != nil {
				return nil, errors.Join(fmt.Errorf("create bucket %q: %w", at.bucket, err), client.Close())
			}
		}
	}
	blobs, err := gcsblob.OpenBucket(ctx, nil, at.bucket, &gcsblob.Options{Client: client})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Bucket{blobs, at, func() error {
		base.CloseIdleConnections()
		return client.Close()
	}}, nil
}

// googleTokens returns the token source, or nil if no tokens are sent.
func googleTokens(ctx context.Context, keyFile string) (oauth2.TokenSource, error) {
	if keyFile == "" && os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return nil, nil
	}
	if keyFile == "" {
		found, err := google.FindDefaultCredentials(ctx, storage.ScopeFullControl)
		if err != nil {
			return nil, fmt.Errorf("find application-default credentials: %w", err)
		}
		return found.TokenSource, nil
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, key, google.ServiceAccount, storage.ScopeFullControl)
	if err != nil {
		return nil, fmt.Errorf("read the service account's key in %q: %w", keyFile, err)
	}
	return found.TokenSource, nil
}
