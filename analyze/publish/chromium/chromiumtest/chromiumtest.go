// Package chromiumtest starts the browser in which tests look at pages.
package chromiumtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/publish/chromium"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Start starts Chromium, which ends with the test or after a time. A test is skipped if
// [slowtest.Fast], or without Chromium, which in CI is a failure.
func Start(t *testing.T, bound time.Duration) *chromium.Browser {
	t.Helper()
	slowtest.Skip(t)
	path, err := chromium.Find()
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	b, err := chromium.Start(ctx, path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Logf("Chromium ended: %v", err)
		}
	})
	return b
}
