package agent

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Bounds on the cost of a connection. Requests are small: the largest holds options of at most
// maxOptions and the hosts of a cluster.
const (
	// maxRequest bounds a request in bytes, maxHeaders its headers.
	maxRequest = 1 << 20
	maxHeaders = 64 << 10
	// maxCalls bounds the concurrent calls on one connection; further calls wait.
	maxCalls = 64
	// greetTimeout bounds the handshake of a new connection.
	greetTimeout = 10 * time.Second
	// A client that sent nothing for quietTime gets a keepalive ping. Its connection ends if it
	// does not answer within answerTime.
	quietTime  = time.Minute
	answerTime = 20 * time.Second
)

// limits returns the bounds as server options.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(greetTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: quietTime, Timeout: answerTime}),
	}
}
