package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/results"
)

// collect fetches the files of one session and returns the names of complete files.
func (s *session) collect(ctx context.Context, dir string) (names []string, err error) {
	files, err := s.files(ctx)
	if err != nil {
		return nil, fmt.Errorf("list files of member %d: %w", s.index+1, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open tag folder: %w", err)
	}
	defer root.Close()
	var errs []error
	for i, f := range files {
		name := recordName(s.index+1, f.Name)
		if name == "" {
			continue
		}
		if err := s.fetch(ctx, int32(i), root, name); err != nil {
			errs = append(errs, fmt.Errorf("collect %s of member %d: %w", f.Name, s.index+1, err))
			continue
		}
		names = append(names, name)
	}
	return names, errors.Join(errs...)
}

// KeptError reports that an agent keeps the records of a member, because they could not be written
// here.
type KeptError struct {
	Addr   string
	Member int // from 0
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("agent %s keeps the records of member %d, which could not be written here, until another run or database reserves it", e.Addr, e.Member+1)
}

// unwritten reports whether err comes from the files here, as on a full disk. Errors from agents
// are texts.
func unwritten(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// files lists the files on the agent for this run.
func (s *session) files(ctx context.Context) ([]*pb.FileInfo, error) {
	ctx, cancel := remote.Within(ctx, remote.CallTimeout)
	defer cancel()
	reply, err := s.Client.Status(ctx, &pb.StatusRequest{RunId: s.RunID})
	if err != nil {
		return nil, s.Failed(ctx, err)
	}
	if err := s.belongs(reply); err != nil {
		return nil, err
	}
	return reply.Files, nil
}

// GoneError reports that an agent holds nothing from this run, and never will.
type GoneError struct{ Text string }

func (e *GoneError) Error() string { return e.Text }

// belongs returns why reply does not describe the session of this run.
func (s *session) belongs(reply *pb.StatusResponse) error {
	switch {
	case reply.Owner == nil:
		return &GoneError{fmt.Sprintf("agent %s: %s", s.Addr, gone)}
	case reply.Owner.GetRunHash() != pb.RunHash(s.RunID):
		return &GoneError{fmt.Sprintf("agent %s now belongs to %s", s.Addr, reply.Owner.GetName())}
	default:
		return nil
	}
}

// recordName returns the file name for member n in the folder: "logs/etcd.log" becomes
// "logs/1-etcd.log". It is "" for files that stay with the agent. A name that leaves the folder
// fails when it is written.
func recordName(n int, name string) string {
	dir, base := path.Split(name)
	if dir == "" && base != results.FileAgentLog && !strings.HasSuffix(base, ".csv") {
		return ""
	}
	return path.Join(dir, fmt.Sprintf("%d-%s", n, base))
}

// fetch streams one file below root and verifies its checksum. An incomplete file is removed.
func (s *session) fetch(ctx context.Context, index int32, root *os.Root, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return wholefile.WriteIn(root, name, func(w io.Writer) error {
		sum := sha256.New()
		want, err := s.receive(ctx, index, io.MultiWriter(w, sum))
		if err == nil && !bytes.Equal(want, sum.Sum(nil)) {
			err = errors.New("the checksum of the received file differs from the agent's")
		}
		return err
	})
}

// receive writes a file from the agent to w, piece by piece, and returns the checksum that the
// agent sent last.
func (s *session) receive(ctx context.Context, index int32, w io.Writer) (sum []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("nothing arrived for %v", stallTimeout)) })
	defer stall.Stop()
	stream, err := s.Client.Collect(ctx, &pb.CollectRequest{RunId: s.RunID, Index: index})
	if err != nil {
		return nil, s.Failed(ctx, err)
	}
	for {
		chunk, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return sum, nil
		case err != nil:
			return nil, s.Failed(ctx, err)
		}
		stall.Reset(stallTimeout)
		if len(chunk.Sha256) > 0 {
			sum = chunk.Sha256
		}
		if _, err := w.Write(chunk.Data); err != nil {
			return nil, err
		}
	}
}
