package remotestorage

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"gocloud.dev/blob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
)

// answerTimeout limits the wait for the header of a response after the request was sent completely.
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
	settings := []option.ClientOption{option.WithHTTPClient(hc)}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		settings = append(settings, option.WithEndpoint(strings.TrimSuffix(host, "/")+"/storage/v1/"))
	}
	service, err := storage.NewService(ctx, settings...)
	if err != nil {
		return nil, err
	}
	if o.Create {
		_, err := service.Buckets.Get(at.bucket).Context(ctx).Do()
		if status, _ := statusOf(err); status == http.StatusNotFound {
			if _, err := service.Buckets.Insert(o.Project, &storage.Bucket{Name: at.bucket}).Context(ctx).Do(); err != nil {
				return nil, fmt.Errorf("create bucket %q: %w", at.bucket, err)
			}
		}
	}
	return &Bucket{&googleBucket{service.Objects, at.bucket, base.CloseIdleConnections}, at}, nil
}

// googleBucket implements objects for Google Cloud Storage.
type googleBucket struct {
	objects *storage.ObjectsService
	bucket  string
	release func()
}

var _ objects = (*googleBucket)(nil)

func (g *googleBucket) close() error { g.release(); return nil }

func (g *googleBucket) list(ctx context.Context, prefix string, page []byte, most int) (found []Object, next []byte, err error) {
	call := g.objects.List(g.bucket).Prefix(prefix).MaxResults(int64(most)).Fields("items(name,size,md5Hash)", "nextPageToken").Context(ctx)
	if !bytes.Equal(page, blob.FirstPageToken) {
		call.PageToken(string(page))
	}
	listed, err := call.Do()
	if err != nil {
		return nil, nil, err
	}
	for _, o := range listed.Items {
		if o.Size > math.MaxInt64 {
			return nil, nil, fmt.Errorf("object %q has the impossible size of %d bytes", o.Name, o.Size)
		}
		sum, err := base64.StdEncoding.DecodeString(o.Md5Hash)
		if err != nil {
			return nil, nil, fmt.Errorf("the checksum of object %q: %w", o.Name, err)
		}
		found = append(found, Object{Name: o.Name, Size: int64(o.Size), MD5: sum})
	}
	return found, []byte(listed.NextPageToken), nil
}

// write sends a small file in one request and a larger one in parts. After a temporary failure the
// client sends the part again, for at most half a minute: sending the same bytes twice does no
// harm.
func (g *googleBucket) write(ctx context.Context, key string, c Content, r io.Reader) error {
	object := &storage.Object{Name: key, ContentType: c.Type, Md5Hash: base64.StdEncoding.EncodeToString(c.MD5)}
	_, err := g.objects.Insert(g.bucket, object).Media(r, googleapi.ChunkSize(int(partSize(c.Size))), googleapi.ContentType(c.Type)).Context(ctx).Do()
	return err
}

func (g *googleBucket) read(ctx context.Context, key string) (io.ReadCloser, error) {
	response, err := g.objects.Get(g.bucket, key).Context(ctx).Download()
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// googleTokens returns the token source, or nil if no tokens are sent.
func googleTokens(ctx context.Context, keyFile string) (oauth2.TokenSource, error) {
	if keyFile == "" && os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return nil, nil
	}
	if keyFile == "" {
		found, err := google.FindDefaultCredentials(ctx, storage.DevstorageFullControlScope)
		if err != nil {
			return nil, fmt.Errorf("find application-default credentials: %w", err)
		}
		return found.TokenSource, nil
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, key, google.ServiceAccount, storage.DevstorageFullControlScope)
	if err != nil {
		return nil, fmt.Errorf("read the service account's key in %q: %w", keyFile, err)
	}
	return found.TokenSource, nil
}
