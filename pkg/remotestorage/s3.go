package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob/s3blob"
)

// clientAttempts limits how often a client sends the same request.
const clientAttempts = 4

// usEast1 is the region that must not be named in a request for a new S3 bucket.
const usEast1 = "us-east-1"

// openS3 opens an S3 bucket, or one on the server at AWS_ENDPOINT_URL.
func openS3(ctx context.Context, at location, o Options) (*Bucket, error) {
	hc := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerTimeout })
	settings := []func(*config.LoadOptions) error{
		config.WithHTTPClient(hc),
		config.WithRetryer(func() aws.Retryer { return retry.AddWithMaxAttempts(retry.NewStandard(), clientAttempts) }),
	}
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
	client := s3.NewFromConfig(cfg, func(s *s3.Options) {
		// Servers other than Amazon's have no DNS name per bucket.
		s.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != ""
	})
	if o.Create {
		if err := createS3(ctx, client, at.bucket, cfg.Region); err != nil {
			return nil, err
		}
	}
	blobs, err := s3blob.OpenBucket(ctx, client, at.bucket, nil)
	if err != nil {
		return nil, err
	}
	return &Bucket{portable{blobs}, at}, nil
}

// createS3 creates a bucket unless it exists.
func createS3(ctx context.Context, client *s3.Client, name, region string) error {
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
	if status, _ := statusOf(err); status != http.StatusNotFound {
		return nil // the bucket exists, or using it will report why it is unreachable
	}
	in := &s3.CreateBucketInput{Bucket: &name}
	if region != usEast1 {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	if _, err := client.CreateBucket(ctx, in); err != nil {
		return fmt.Errorf("create bucket %q: %w", name, err)
	}
	return nil
}
