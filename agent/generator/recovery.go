package generator

import (
	"log/slog"
	"runtime/debug"

	"github.com/coreos/dbtester/pkg/database"
)

// recoveredIn turns a panic in a verb into an error, because its goroutine would end the agent. It
// logs the stack.
func recoveredIn(log *slog.Logger, verb string, err *error) {
	if p := recover(); p != nil {
		log.Error("panic", "in", verb, "panic", p, "stack", string(debug.Stack()))
		*err = database.Panicked(p)
	}
}
