package remotestorage

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The Amazon server is that of the region, unless the environment or the configuration names
// another.
func TestEndpointOfS3(t *testing.T) {
	for _, test := range []struct{ region, configured, ofS3, want, wrong string }{
		{region: "eu-central-1", want: "https://s3.eu-central-1.amazonaws.com"},
		{region: "cn-north-1", want: "https://s3.cn-north-1.amazonaws.com.cn"},
		{region: "us-east-1", configured: "http://10.0.0.9:9000", want: "http://10.0.0.9:9000"},
		{region: "us-east-1", configured: "http://10.0.0.9:9000/", ofS3: "https://store.example", want: "https://store.example"},
		{region: "us-east-1", ofS3: "https://store.example/s3", wrong: "a URL without a path"},
		{region: "us-east-1", ofS3: "store.example:9000", wrong: "a URL without a path"},
	} {
		t.Setenv("AWS_ENDPOINT_URL_S3", test.ofS3)
		cfg := aws.Config{Region: test.region, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}
		if test.configured != "" {
			cfg.BaseEndpoint = &test.configured
		}
		client, err := s3Client(cfg)
		switch {
		case test.wrong != "":
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%+v: got %v, want an error with %q", test, err, test.wrong)
			}
		case err != nil || client.EndpointURL().String() != test.want:
			t.Errorf("%+v: got %v, %v", test, client, err)
		}
	}
}

// A server that sends empty pages without an end is not asked without an end.
func TestEmptyPagesOfS3(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", asked)
	}))
	t.Cleanup(server.Close)
	client, err := s3Client(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bucket{&s3Bucket{client, "bucket"}, location{}}
	if _, err := b.List(t.Context(), ""); !errors.Is(err, errListed) || asked > mostRequests {
		t.Errorf("asked %d times, want at most %d and too long a list: %v", asked, mostRequests, err)
	}
}
