package fake

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// Serve runs one member until ctx ends.
func (o *Options) Serve(ctx context.Context, args []string) error {
	s := server{started: time.Now(), logger: log.New(os.Stderr, "", 0)}
	fs := flag.NewFlagSet(Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.listen, "listen", "", "")
	fs.StringVar(&s.leader, "leader", "", "")
	fs.StringVar(&s.data, "data", "", "")
	fs.DurationVar(&s.Delay, "delay", 0, "")
	fs.BoolVar(&s.OneByOne, "one-by-one", false, "")
	fs.IntVar(&s.FailEvery, "fail-every", 0, "")
	fs.IntVar(&s.LoseEvery, "lose-every", 0, "")
	fs.StringVar((*string)(&s.Lie), "lie", "", "")
	fs.IntVar(&s.LieEvery, "lie-every", 0, "")
	fs.StringVar((*string)(&s.Expiry), "expiry", string(expiry.Exact), "")
	fs.IntVar(&s.ExpireEarlyEvery, "expire-early-every", 0, "")
	fs.DurationVar(&s.HandOver, "hand-over", 0, "")
	fs.IntVar(&s.TwoHoldersEvery, "two-holders-every", 0, "")
	fs.IntVar(&s.OldFenceEvery, "old-fence-every", 0, "")
	fs.DurationVar(&s.WatchDelay, "watch-delay", 0, "")
	fs.StringVar((*string)(&s.WatchLie), "watch-lie", "", "")
	fs.IntVar(&s.WatchLieEvery, "watch-lie-every", 0, "")
	fs.DurationVar(&s.ReadyAfter, "ready-after", 0, "")
	if err := fs.Parse(args); err != nil {
		return fmt.Errorf("read fake flags: %w", err)
	}
	if s.leader != "" {
		return s.accept(ctx)
	}
	var err error
	if s.store, err = openStore(s.data); err != nil {
		return err
	}
	s.liar.before = map[string]replaced{}
	s.store.hub = deliver.NewHub(s.watchLaw(), s.store.applied)
	return errors.Join(s.accept(ctx), s.store.close())
}

// accept serves connections until ctx ends, then closes them and waits.
func (s *server) accept(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("serve fake: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return database.ServeConns(ctx, listener, func(conn net.Conn) error {
		s.serve(ctx, conn)
		return nil
	})
}

// serve answers requests on one connection until either side ends it.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	r, w := bufio.NewReader(conn), bufio.NewWriter(conn)
	upstream := &client{endpoint: s.leader}
	defer upstream.Close()
	for {
		kind, key, value, err := readFrame(r)
		if err != nil {
			return
		}
		if op := opcode(kind); s.store != nil && (op.watches() || op == opMark) {
			s.watch(ctx, r, w, op, key, value)
			return
		}
		code, data := s.answer(ctx, upstream, opcode(kind), key, value)
		if code == 0 || writeFrame(w, byte(code), nil, data) != nil {
			return
		}
	}
}

// answer handles one request. Code 0 closes the connection without an answer.
func (s *server) answer(ctx context.Context, upstream *client, op opcode, key, value []byte) (code, []byte) {
	switch {
	case op == opVersion:
		return codeOK, []byte(Version)
	case op == opReady && time.Since(s.started) < s.ReadyAfter:
		return codeNotReady, []byte("the member is not ready yet")
	case op == opLead && s.store == nil:
		return codeRefused, []byte("the member is a follower")
	case s.store == nil:
		return forward(ctx, upstream, op, key, value)
	}
	if s.Delay > 0 && !s.delay(ctx) {
		return 0, nil
	}
	if op == opAwait {
		return s.await(ctx, key)
	}
	return s.lead(op, key, value)
}

// delay sleeps as long as a request takes, and returns false if ctx ends before.
func (s *server) delay(ctx context.Context) bool {
	if s.OneByOne {
		s.turn.Lock()
		defer s.turn.Unlock()
	}
	return sleep.For(ctx, s.Delay)
}

// forward sends a request to the leader. If the connection breaks, the leader may have
// applied the request.
func forward(ctx context.Context, upstream *client, op opcode, key, value []byte) (code, []byte) {
	answer, err := upstream.roundTrip(ctx, op, key, value)
	if err == nil {
		return answer.code, answer.data
	}
	if outcome, _ := database.Classify(err); outcome == workload.Failed {
		return codeUnavailable, []byte("the leader can't be reached")
	}
	return codeUnknown, []byte("the connection to the leader was lost")
}

// lead handles a request on the leader store.
func (s *server) lead(op opcode, key, value []byte) (code, []byte) {
	switch op {
	case opReady, opLead:
		return codeOK, nil
	case opCount:
		return codeOK, fmt.Append(nil, s.store.count(string(value)))
	case opHighest:
		number, err := strconv.Atoi(string(key))
		if err != nil {
			return codeRefused, []byte("the key must be a number")
		}
		return codeOK, fmt.Append(nil, s.store.highest(number, string(value)))
	case opClean:
		var which database.Removable
		if err := json.Unmarshal(key, &which); err != nil {
			return codeRefused, []byte("the key must be what to remove")
		}
		return s.clean(which, string(value))
	case opGet:
		value, ok := s.read(key)
		if !ok {
			return codeNotFound, nil
		}
		return codeOK, value
	case opPut, opDelete, opTxn:
		return s.write(op, key, value)
	case opRevision:
		return codeOK, binary.BigEndian.AppendUint64(nil, uint64(s.store.version(key)))
	case opGrant, opKeep, opAttach, opTake, opRelease, opSessions:
		return s.session(op, key, value)
	case opEnter, opLeave:
		return s.lock(op, key, value)
	default:
		return codeRefused, []byte("unknown request")
	}
}

// clean deletes at most cleanBatch of the selected keys with a prefix, and answers with their
// number.
func (s *server) clean(which database.Removable, prefix string) (code, []byte) {
	keys := s.store.some(cleanBatch, prefix, which.Has)
	for _, key := range keys {
		if err := s.store.apply(opDelete, key, nil); err != nil {
			return codeUnknown, []byte("the deletion could not be appended to the file")
		}
	}
	return codeOK, fmt.Append(nil, len(keys))
}

func (s *server) write(op opcode, key, value []byte) (code, []byte) {
	limit := maxValue
	if op == opTxn {
		limit += versionSize
	}
	if len(value) > limit {
		return codeTooLarge, fmt.Appendf(nil, "the value must have at most %d bytes, got %d", maxValue, len(value))
	}
	n := s.store.next()
	if s.FailEvery > 0 && n%s.FailEvery == 0 {
		s.logger.Printf("refused write %d", n)
		return codeRefused, []byte("the option fail_every refuses this write")
	}
	if answered, data, lied := s.lie(op, key, value); lied {
		return answered, data
	}
	code, answer, err := s.apply(op, key, value)
	if err != nil {
		s.logger.Printf("write %d: %v", n, err)
		return codeUnknown, []byte("the write could not be appended to the file")
	}
	if s.LoseEvery > 0 && n%s.LoseEvery == 0 {
		return 0, nil
	}
	return code, answer
}

// apply writes to the store. It answers a transaction with the key version.
func (s *server) apply(op opcode, key, value []byte) (code, []byte, error) {
	if op != opTxn {
		return codeOK, nil, s.store.apply(op, key, value)
	}
	if len(value) < versionSize {
		return codeRefused, []byte("the transaction has no version"), nil
	}
	version, done, err := s.swap(key, value[versionSize:], int64(binary.BigEndian.Uint64(value)))
	answer := binary.BigEndian.AppendUint64(nil, uint64(version))
	if err == nil && !done {
		return codeConflict, answer, nil
	}
	return codeOK, answer, err
}
