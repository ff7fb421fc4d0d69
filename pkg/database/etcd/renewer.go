package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/database/etcd/stream"
)

// standardRenewer is a grpc-go stream.
type standardRenewer struct {
	sending sync.Mutex
	stream  pb.Lease_LeaseKeepAliveClient
	cancel  context.CancelFunc
	reading sync.WaitGroup
}

// openStandard opens streams over a grpc-go connection.
func openStandard(lease pb.LeaseClient) opener {
	return func(ctx context.Context, answered func(id, ttl int64), ended func()) (renewer, error) {
		ctx, cancel := context.WithCancel(ctx)
		s, err := lease.LeaseKeepAlive(ctx)
		if err != nil {
			cancel()
			return nil, err
		}
		r := &standardRenewer{stream: s, cancel: cancel}
		r.reading.Go(func() {
			defer ended()
			for {
				resp, err := s.Recv()
				if err != nil {
					return
				}
				answered(resp.ID, resp.TTL)
			}
		})
		return r, nil
	}
}

func (r *standardRenewer) Renew(id int64) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	return r.stream.Send(&pb.LeaseKeepAliveRequest{ID: id})
}

func (r *standardRenewer) Close() {
	r.cancel()
	r.reading.Wait()
}

// leanRenewer is a stream of our own client, on its own connection.
type leanRenewer struct {
	conn   *stream.Conn
	stream *stream.Stream
}

// openLean opens streams to the next available endpoint. For each stream auth exchanges credentials
// for a token; auth is nil without credentials.
func openLean(t database.Target, auth func(context.Context) (token string, err error)) (opener, error) {
	addresses, err := t.Preferred()
	if err != nil {
		return nil, err
	}
	config, err := t.TLS.Config()
	if err != nil {
		return nil, err
	}
	next := 0 // safe: one stream is opened at a time
	return func(ctx context.Context, answered func(id, ttl int64), ended func()) (renewer, error) {
		var fields []http2.Field
		if auth != nil {
			token, err := auth(ctx)
			if err != nil {
				return nil, err
			}
			fields = []http2.Field{{Name: rpctypes.TokenFieldNameGRPC, Value: token}}
		}
		var errs []error
		for range addresses {
			address := addresses[next%len(addresses)]
			next++
			conn, err := stream.Dial(ctx, stream.Config{Address: address, TLS: config, Metadata: fields, Window: renewalWindow, MaxMessage: renewalWindow})
			if err == nil {
				return leanRenewals(conn, answered, ended)
			}
			errs = append(errs, err)
		}
		if len(errs) == 1 {
			return nil, errs[0]
		}
		return nil, errors.Join(errs...)
	}, nil
}

// renewalWindow is the flow-control window of a renewal stream in bytes. An answer has a few dozen.
const renewalWindow = 256 << 10

// leanRenewals opens the stream of a connection, which it closes after an error.
func leanRenewals(conn *stream.Conn, answered func(id, ttl int64), ended func()) (renewer, error) {
	receive := func(_ time.Time, message []byte) error {
		id, ttl, err := keptAlive(message)
		if err == nil {
			answered(id, ttl)
		}
		return err
	}
	s, err := conn.Open(pb.Lease_LeaseKeepAlive_FullMethodName, receive, func(error) { ended() })
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &leanRenewer{conn: conn, stream: s}, nil
}

func (r *leanRenewer) Renew(id int64) error { return r.stream.Send(number(leaseID, id)) }

func (r *leanRenewer) Close() { r.conn.Close() }

// keptAlive reads a LeaseKeepAliveResponse.
func keptAlive(message []byte) (id, ttl int64, err error) {
	err = fields(message, func(number protowire.Number, _ []byte, n uint64) error {
		switch number {
		case renewedID:
			id = int64(n)
		case renewedTTL:
			ttl = int64(n)
		}
		return nil
	})
	return id, ttl, err
}
