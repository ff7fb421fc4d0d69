package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// Deadlines bound the wait for the child in each stage of Stop, before the next stage begins.
type Deadlines struct {
	// Interrupt and Terminate follow SIGINT and SIGTERM; 0 skips the stage.
	Interrupt, Terminate time.Duration
	// Kill follows SIGKILL, which a child can survive only inside the kernel; 0 means the default.
	Kill time.Duration
}

// DefaultDeadlines returns 10 seconds after SIGINT, 5 after SIGTERM and 5 after SIGKILL.
func DefaultDeadlines() Deadlines {
	return Deadlines{Interrupt: 10 * time.Second, Terminate: 5 * time.Second, Kill: 5 * time.Second}
}

// stage orders the signals by which a child is stopped.
type stage int

const (
	stageNone stage = iota
	stageInterrupt
	stageTerminate
	stageKill
)

// String returns the word for a stage in [Exit.After].
func (s stage) String() string {
	return [...]string{"", "interrupt", "terminate", "kill"}[s]
}

// signal returns the signal of the stage.
func (s stage) signal() unix.Signal {
	return [...]unix.Signal{0, unix.SIGINT, unix.SIGTERM, unix.SIGKILL}[s]
}

// Stop ends the child and its group: SIGINT, then SIGTERM, then SIGKILL, each after the deadline of
// the previous stage. A cancelled ctx goes straight to SIGKILL. Stop returns once the child is
// reaped. If even SIGKILL does not end it in time, the text of the returned Exit is "still running
// after kill".
//
// Further calls, even concurrent ones, wait for the same end: each stage is sent once, by the first
// call that reaches it.
func (h *Handle) Stop(ctx context.Context, d Deadlines) Exit {
	if d.Kill <= 0 {
		d.Kill = DefaultDeadlines().Kill
	}
	if d.Interrupt > 0 && h.await(ctx, stageInterrupt, d.Interrupt) {
		return h.exit
	}
	if d.Terminate > 0 && h.await(ctx, stageTerminate, d.Terminate) {
		return h.exit
	}
	// SIGKILL is the last stage, so it no longer matters whether ctx ends.
	if h.await(context.WithoutCancel(ctx), stageKill, d.Kill) {
		return h.exit
	}
	return Exit{Code: -1, After: stageKill.String()}
}

// await sends the signal of the stage and reports whether the child ended within the deadline.
func (h *Handle) await(ctx context.Context, s stage, deadline time.Duration) bool {
	if ctx.Err() != nil {
		select {
		case <-h.done:
			return true
		default:
			return false
		}
	}
	h.send(s)
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case <-h.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// send signals the group, unless that stage was already sent or the child has ended by itself: its
// Exit must not name a stage in that case.
func (h *Handle) send(s stage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reaped || s <= h.stage || ended(h.pid) {
		return
	}
	h.stage = s
	_ = unix.Kill(-h.pid, s.signal()) // fails only if the group is gone
}
