package etcd

import (
	"context"
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
	"github.com/coreos/dbtester/pkg/workload"
)

// stream reads a range as a stream (KV.RangeStream): a member sends it in parts, all at one
// revision.
func (c *client) stream(ctx context.Context, r *pb.RangeRequest) (keys int, size int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, answer.Classify(err, false)
	}
	var p peer.Peer
	parts, err := c.kv.RangeStream(ctx, r, grpc.Peer(&p))
	var sum answer.Parts
	for err == nil { // until the end, so gRPC keeps nothing of the stream
		var part *pb.RangeStreamResponse
		if part, err = parts.Recv(); err == nil {
			sum.Add(part.GetRangeResponse())
		}
	}
	if !errors.Is(err, io.EOF) {
		return 0, 0, answer.WithoutStream(answer.Classify(err, p.Addr != nil))
	}
	return sum.Sum()
}

// stream reads like [client.stream]. Parts are read while they arrive, and not kept.
func (c *lean) stream(ctx context.Context, key, end []byte, mode workload.ReadMode) (keys int, size int64, err error) {
	var sum answer.Parts
	m := &unary.Message{
		One: key, Two: end, Rest: rangeFields(0, mode), MaxReply: c.rangeReply(0),
		Each: func(part []byte) error { return addPart(&sum, part) },
	}
	if err := c.call(ctx, pathStream, m, nil); err != nil {
		return 0, 0, answer.WithoutStream(err)
	}
	return sum.Sum()
}

// addPart adds an encoded RangeStreamResponse.
func addPart(sum *answer.Parts, part []byte) error {
	sum.Revision, sum.Count = 0, 0
	return fields(part, func(number protowire.Number, response []byte, _ uint64) error {
		if number != streamResponse {
			return nil
		}
		err := values(response, func(value []byte) {
			sum.Keys++
			sum.Size += int64(len(value))
		})
		if err != nil {
			return err
		}
		return fields(response, func(number protowire.Number, held []byte, is uint64) error {
			switch number {
			case rangeCount:
				sum.Count = int64(is)
			case rangeHeader:
				return fields(held, func(number protowire.Number, _ []byte, is uint64) error {
					if number == headerRevision {
						sum.Revision = int64(is)
					}
					return nil
				})
			}
			return nil
		})
	})
}
