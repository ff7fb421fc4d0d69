package agent

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// chunkBytes is the size of a Collect message.
const chunkBytes = 64 << 10

// Collect streams one session file up to its current length. The log of a running member may grow
// meanwhile. If it grew past the log bound, its kept part is sent. A file that does not exist yet
// is empty.
func (v service) Collect(req *pb.CollectRequest, stream grpc.ServerStreamingServer[pb.CollectChunk]) error {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return err
	}
	now := s.snapshot()
	if err := s.checkDir(now.dir); err != nil {
		return err
	}
	if i := int(req.GetIndex()); i < 0 || i >= len(now.files) {
		return status.Errorf(codes.OutOfRange, "file index %d must be below %d, the number of files", i, len(now.files))
	}
	name := now.files[req.GetIndex()]
	f, err := v.agent.root.Open(now.dir + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return send(stream, name, strings.NewReader(""))
	}
	if err != nil {
		return status.Errorf(codes.Internal, "open %s: %v", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return status.Errorf(codes.Internal, "measure %s: %v", name, err)
	}
	if name == results.FileAgentLog || strings.HasPrefix(name, results.DirLogs+"/") {
		kept, err := v.agent.opts.LogBound.Reader(f, info.Size())
		if err != nil {
			return status.Errorf(codes.Internal, "read %s: %v", name, err)
		}
		return send(stream, name, kept)
	}
	return send(stream, name, io.LimitReader(f, info.Size()))
}

// checkDir returns an error if the session directory was removed: its files are lost, and must not
// pass for empty ones.
func (s *session) checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := s.agent.checkWorkDir(); err != nil {
		return err
	}
	if _, err := s.agent.root.Stat(dir); err != nil {
		return status.Errorf(codes.DataLoss, "the session's records are lost: %v", err)
	}
	return nil
}

// send streams r in chunks, followed by the checksum of the whole.
func send(stream grpc.ServerStreamingServer[pb.CollectChunk], name string, r io.Reader) error {
	sum := sha256.New()
	for {
		// gRPC may read a message after Send returned, so each has its own buffer.
		chunk := make([]byte, chunkBytes)
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			sum.Write(chunk[:n])
			if err := stream.Send(&pb.CollectChunk{Data: chunk[:n]}); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return stream.Send(&pb.CollectChunk{Sha256: sum.Sum(nil)})
		default:
			return status.Errorf(codes.Internal, "read %s: %v", name, err)
		}
	}
}
