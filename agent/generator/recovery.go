package generator

import (
	"log/slog"
	"runtime/debug"

	"github.com/coreos/dbtester/pkg/database"
)

// recovered turns a panic of a driver into an error. It must be deferred itself.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = database.Panicked(p)
	}
}

// recoveredIn is recovered for a verb, whose goroutine would end the agent. It logs the
// stack.
func recoveredIn(log *slog.Logger, verb string, err *error) {
	if p := recover(); p != nil {
		log.Error("panic", "in", verb, "panic", p, "stack", string(debug.Stack()))
		*err = database.Panicked(p)
	}
}
