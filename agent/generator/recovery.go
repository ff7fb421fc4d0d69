package generator

import (
	"log/slog"
	"runtime/debug"

	"github.com/coreos/dbtester/pkg/database"
)

// recoveredIn turns a panic of a verb, whose goroutine would end the agent, into an error. It
// logs the stack.
func recoveredIn(log *slog.Logger, verb string, err *error) {
	if p := recover(); p != nil {
		log.Error("panic", "in", verb, "panic", p, "stack", string(debug.Stack()))
		*err = database.Panicked(p)
	}
}
