package generator

import (
	"context"
	"fmt"

	"google.golang.org/grpc/status"
)

// queued is the number of messages that may wait for control to read them: some minutes of a step.
const queued = 1024

// put queues a message and returns at once. If control has not read for minutes, the session ends
// and the message is lost.
func (o *outbox[M]) put(m *M) error {
	select {
	case o.queue <- m:
		return nil
	default:
		o.session.end(errNotTaken)
		return errNotTaken
	}
}

// offer queues a message that need not arrive.
func (o *outbox[M]) offer(m *M) {
	select {
	case o.queue <- m:
	default:
	}
}

// last queues the last message, and waits for room.
func (o *outbox[M]) last(m *M) {
	select {
	case o.queue <- m:
	case <-o.session.ctx.Done():
	}
}

// relay does the work of a streaming verb and sends its messages in order. The work ends when the
// session does, whatever happens to the stream. A broken stream ends the session, and a session
// that ends ends the verb, even if control does not read.
func relay[M any](ctx context.Context, s *session, send func(*M) error, work func(out *outbox[M]) error) error {
	out := &outbox[M]{s, make(chan *M, queued)}
	failed, sent := make(chan error, 1), make(chan error, 1)
	s.server.wg.Go(func() {
		defer close(out.queue)
		failed <- work(out)
	})
	s.server.wg.Go(func() {
		for m := range out.queue {
			if err := send(m); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	})
	select {
	case err := <-sent:
		if err != nil {
			s.end(fmt.Errorf("%w: %w", errLost, err))
			return err
		}
		return <-failed
	case <-ctx.Done():
		s.end(errLost)
		return status.FromContextError(ctx.Err()).Err()
	case <-s.ctx.Done():
		return s.over()
	}
}
