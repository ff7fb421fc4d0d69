package issue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
)

// preloadStream is the result of Preload on a scripted generator.
type preloadStream struct {
	grpc.ClientStream
	recv func() error
}

func (s preloadStream) Recv() (*pb.PreloadProgress, error) { return nil, s.recv() }

func (g *scripted) Preload(ctx context.Context, _ *pb.PreloadRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.PreloadProgress], error) {
	return preloadStream{recv: func() error { return g.fails(ctx) }}, nil
}

// hang answers when its call is ended.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// silence makes a generator answer no more heartbeats.
func (g *scripted) silence() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.silent = true
}

// TestLostInPreload: a generator that hangs or fails ends the preload for all, and is named.
func TestLostInPreload(t *testing.T) {
	for name, tc := range map[string]struct {
		fails func(context.Context) error
		want  string
	}{
		"silent": {hang, "generator g1:1: 3 heartbeats in a row failed"},
		"failed": {func(context.Context) error { return status.Error(codes.Unavailable, "no disk") }, "generator g1:1: no disk"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b := &scripted{fails: hang}, &scripted{fails: tc.fails}
			f := begin(t, a, b)
			defer f.close(t)
			b.silence()
			err := f.set.Preload(t.Context(), Preload{Preload: issuer.Preload{Clients: 4, Connections: 2}, Members: []int{0, 1}}, func(load.Progress) {})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", name, err, tc.want)
			}
		})
	}
}

// TestLostInConnect: a generator that hangs when it should open connections, or no longer has a
// session, is lost, and the other completes.
func TestLostInConnect(t *testing.T) {
	for name, fails := range map[string]func(context.Context) error{
		"silent": hang,
		"over":   func(context.Context) error { return status.Error(codes.Aborted, "the session is over") },
		"taken":  func(context.Context) error { return status.Error(codes.PermissionDenied, "it belongs to another") },
		"free":   func(context.Context) error { return status.Error(codes.FailedPrecondition, "no load is prepared") },
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b := &scripted{run: issue(3)}, &scripted{fails: fails}
			f := begin(t, a, b)
			defer f.close(t)
			b.silence()
			before := time.Now()
			_, _, err := f.step(t.Context(), 0)
			if n, shed := f.out.sum(); err != nil || n != 3 || shed != 3 || f.set.Records()[1].Lost == "" {
				t.Errorf("%s: error %v, %d seconds with %d requests, lost %q; want the step of the other", name, err, n, shed, f.set.Records()[1].Lost)
			}
			if took := time.Since(before); took >= connectTimeout {
				t.Errorf("%s: the step took %v, want that the loss ends the call", name, took)
			}
		})
	}
}

// TestRefusedStranger: only a member to which connections go can refuse them.
func TestRefusedStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, &scripted{refuses: &pb.RefusedConnection{Member: 7, Text: "no answer", Lost: true}}, &scripted{})
		defer f.close(t)
		if _, _, err := f.step(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "generator g0:1: it reported member 8") || len(f.losses) > 0 {
			t.Errorf("error %v, lost members %v; want that it names a member that is none", err, f.losses)
		}
	})
}

// TestInterruptedFirst: two generators have sent nothing when the load is stopped. The one that
// refuses was stopped, and the one whose stream breaks is lost.
func TestInterruptedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gens []*scripted
		for _, code := range []codes.Code{codes.FailedPrecondition, codes.Unavailable} {
			g := &scripted{}
			g.run = func(context.Context, *pb.RunRequest, func(*pb.RunResponse)) error {
				<-g.stopped
				return status.Error(code, "no")
			}
			gens = append(gens, g)
		}
		f := begin(t, gens...)
		defer f.close(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		defer time.AfterFunc(time.Second, func() { cancel(why) }).Stop()
		_, _, err := f.step(ctx, 0)
		r := f.set.Records()
		if !errors.Is(err, why) || r[0].Lost != "" || !strings.HasPrefix(r[1].Lost, "its stream broke") {
			t.Errorf("error %v, lost %q and %q; want only the second lost, by its stream", err, r[0].Lost, r[1].Lost)
		}
	})
}

// TestNoSeconds: a generator that answers heartbeats and sends no seconds delays no other. It is
// lost and named, its part is ended, and the other completes.
func TestNoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		begun := time.Now()
		a, b := &scripted{run: issue(90)}, &scripted{run: func(ctx context.Context, _ *pb.RunRequest, _ func(*pb.RunResponse)) error {
			<-ctx.Done()
			ended = time.Since(begun)
			return status.FromContextError(ctx.Err()).Err()
		}}
		f := begin(t, a, b)
		defer f.close(t)
		_, _, err := f.step(t.Context(), 0)
		synctest.Wait()
		if n, shed := f.out.sum(); err != nil || n != 90 || shed != 90 {
			t.Errorf("error %v, %d seconds with %d requests, want the 90 of the other", err, n, shed)
		}
		const why = "the others are more than 60 seconds ahead"
		if len(f.events) != 1 || f.events[0] != "generator lost: g1:1: "+why || f.set.Records()[1].Lost != why {
			t.Errorf("events %q, lost %q; want that the second is lost once, and why", f.events, f.set.Records()[1].Lost)
		}
		if ended == 0 || ended > 80*time.Second {
			t.Errorf("its call ended after %v, want soon after it was lost", ended)
		}
	})
}

// TestFullDisk: if control cannot write samples from a generator, it loses the samples, not the
// generator.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	synctest.Test(t, func(t *testing.T) {
		const header, row = "UNIX-SECOND\n", "1\n"
		sampled := func(n int) *scripted {
			return &scripted{run: func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
				send(&pb.RunResponse{Record: &pb.RunResponse_Samples{Samples: []byte(header + row)}})
				send(&pb.RunResponse{Record: &pb.RunResponse_Samples{Samples: []byte(row)}})
				return issue(n)(ctx, req, send)
			}}
		}
		f := begin(t, sampled(2), sampled(2))
		defer f.close(t)
		dir := t.TempDir()
		f.set.opts.Dir = dir
		full, whole := filepath.Join(Folder(dir, 0), results.FileClient), filepath.Join(Folder(dir, 1), results.FileClient)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		if err := os.Symlink("/dev/full", full); err != nil {
			t.Fatalf("link a file: %v", err)
		}
		_, _, err := f.step(t.Context(), 0)
		if n, shed := f.out.sum(); err != nil || n != 2 || shed != 4 || len(f.events) > 0 {
			t.Errorf("error %v, %d seconds with %d requests, events %q; want those of both generators", err, n, shed, f.events)
		}
		c, err := f.set.End()
		if !errors.Is(err, unix.ENOSPC) || !strings.HasPrefix(err.Error(), "write the samples of generator g0:1 on control's machine: ") || c.Lost[0] != nil {
			t.Errorf("error %v, lost %v; want that control's disk is full", err, c.Lost)
		}
		if data, err := os.ReadFile(whole); err != nil || string(data) != header+row+row {
			t.Errorf("the other's samples are %q, error %v", data, err)
		}
	})
}
