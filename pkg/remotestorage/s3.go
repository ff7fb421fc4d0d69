package remotestorage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"gocloud.dev/blob"
)

// clientAttempts limits how often a client sends the same request.
const clientAttempts = 4

// openS3 opens an S3 bucket, or one on the server at AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.
// Region, credentials and certificates are configured as for Amazon's own programs.
func openS3(ctx context.Context, at location, o Options) (*Bucket, error) {
	hc := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerTimeout })
	settings := []func(*config.LoadOptions) error{config.WithHTTPClient(hc)}
	if o.KeyFile != "" {
		if _, err := os.Stat(o.KeyFile); err != nil {
			return nil, fmt.Errorf("read the key file: %w", err)
		}
		settings = append(settings, config.WithSharedCredentialsFiles([]string{o.KeyFile}))
	}
	cfg, err := config.LoadDefaultConfig(ctx, settings...)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("an S3 bucket needs its region: set AWS_REGION")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("find AWS credentials: %w", err)
	}
	client, err := s3Client(cfg)
	if err != nil {
		return nil, err
	}
	if o.Create {
		// If there is an error, using the bucket will report the reason.
		if found, err := client.BucketExists(ctx, at.bucket); err == nil && !found {
			if err := client.MakeBucket(ctx, at.bucket, minio.MakeBucketOptions{Region: cfg.Region}); err != nil {
				return nil, fmt.Errorf("create bucket %q: %w", at.bucket, refusal(err))
			}
		}
	}
	return &Bucket{&s3Bucket{client, at.bucket}, at}, nil
}

// s3Client returns a client for the server named in cfg.
func s3Client(cfg aws.Config) (*minio.Client, error) {
	o := &minio.Options{
		Creds: credentials.New(awsCredentials{cfg.Credentials}), Region: cfg.Region, Secure: true, MaxRetries: clientAttempts,
	}
	if hc, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		o.Transport = hc.GetTransport() // trusts AWS_CA_BUNDLE
	}
	host := "s3." + cfg.Region + ".amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		host += ".cn"
	}
	if endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), aws.ToString(cfg.BaseEndpoint)); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("the endpoint of S3 must be a URL without a path, such as https://host:9000, got %q", endpoint)
		}
		// Servers other than those of Amazon have no DNS name per bucket.
		host, o.Secure, o.BucketLookup = u.Host, u.Scheme == "https", minio.BucketLookupPath
	}
	client, err := minio.New(host, o)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of S3: %w", err)
	}
	client.SetS3EnableDualstack(false)
	return client, nil
}

// awsCredentials asks for credentials with every request; Amazon's chain keeps them while they are
// valid.
type awsCredentials struct{ aws.CredentialsProvider }

func (a awsCredentials) IsExpired() bool { return true }

func (a awsCredentials) Retrieve() (credentials.Value, error) { return a.RetrieveWithCredContext(nil) }

func (a awsCredentials) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	found, err := a.CredentialsProvider.Retrieve(context.Background())
	return credentials.Value{
		AccessKeyID: found.AccessKeyID, SecretAccessKey: found.SecretAccessKey, SessionToken: found.SessionToken, SignerType: credentials.SignatureV4,
	}, err
}

// s3Bucket is an S3 bucket.
type s3Bucket struct {
	client *minio.Client
	name   string
}

var _ objects = (*s3Bucket)(nil)

func (s *s3Bucket) close() error { return nil }

// mostRequests bounds how often a server is asked for one page of at most 1000 objects, which
// usually takes one request: the client asks by itself as long as pages are empty.
const mostRequests = 2000

// list begins a page after the last key in the one before, which is the page's token.
func (s *s3Bucket) list(ctx context.Context, prefix string, page []byte, most int) (found []Object, next []byte, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	requests := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) {
		if requests++; requests > mostRequests {
			end(fmt.Errorf("%w: one page takes more than %d requests", errListed, mostRequests))
		}
	}})
	o := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: most}
	if !bytes.Equal(page, blob.FirstPageToken) {
		o.StartAfter = string(page)
	}
	for one := range s.client.ListObjectsIter(ctx, s.name, o) {
		if one.Err != nil {
			if cause := context.Cause(ctx); errors.Is(cause, errListed) {
				return nil, nil, cause
			}
			return nil, nil, refusal(one.Err)
		}
		tag := strings.Trim(one.ETag, `"`)
		sum, err := hex.DecodeString(tag)
		if err != nil {
			sum = nil // for an object that was sent in parts
		}
		found = append(found, Object{Name: one.Key, Size: one.Size, MD5: sum, ETag: tag})
		if len(found) == most {
			return found, []byte(one.Key), nil
		}
	}
	return found, nil, ctx.Err()
}

func (s *s3Bucket) write(ctx context.Context, key string, c Content, r io.Reader) error {
	_, err := s.client.PutObject(ctx, s.name, key, r, c.Size, minio.PutObjectOptions{
		ContentType: c.Type, PartSize: uint64(partSize(c.Size)), SendContentMd5: true, DisableContentSha256: true,
	})
	return refusal(err)
}

func (s *s3Bucket) read(ctx context.Context, key string) (io.ReadCloser, error) {
	body, _, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.name, key, minio.GetObjectOptions{})
	return body, refusal(err)
}

// refusal adds the S3 code to an error, whose text is the server message alone.
func refusal(err error) error {
	var reply minio.ErrorResponse
	if errors.As(err, &reply) && reply.Code != "" {
		return fmt.Errorf("%s: %w", reply.Code, err)
	}
	return err
}
