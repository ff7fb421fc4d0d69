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
)

// chunkBytes is the size of a message of Collect.
const chunkBytes = 64 << 10

// Collect streams one file of the session as it is now: what is appended
// meanwhile, to the log of a member that runs, is left out. A file that does not
// exist yet is empty.
func (v service) Collect(req *pb.CollectRequest, stream grpc.ServerStreamingServer[pb.CollectChunk]) error {
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return err
	}
	now := s.snapshot()
	if i := int(req.GetIndex()); i < 0 || i >= len(now.files) {
		return status.Errorf(codes.OutOfRange, "file %d of %d files", i, len(now.files))
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
	return send(stream, name, io.LimitReader(f, info.Size()))
}

// send streams r in chunks and the checksum of all of them last.
func send(stream grpc.ServerStreamingServer[pb.CollectChunk], name string, r io.Reader) error {
	sum := sha256.New()
	for {
		// A message that was sent is still gRPC's to read, so each has its own bytes.
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
