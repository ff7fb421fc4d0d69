package agent_test

import (
	"log/slog"
	"testing"
)

// slogTo returns a log that goes to the test log.
func slogTo(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}
