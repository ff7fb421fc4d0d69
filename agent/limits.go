package agent

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// What a connection may cost an agent. Requests are small: the largest holds options of
// at most maxOptions and the hosts of a cluster.
const (
	// maxRequest bounds a request in bytes, maxHeaders its headers.
	maxRequest = 1 << 20
	maxHeaders = 64 << 10
	// maxCalls bounds the calls at once on one connection; further ones wait.
	maxCalls = 64
	// greetTimeout is how long a new connection may take to show who it is.
	greetTimeout = 10 * time.Second
	// A caller that sent nothing for quietTime is asked whether it is still there, and its
	// connection ends if it does not answer within answerTime.
	quietTime  = time.Minute
	answerTime = 20 * time.Second
)

// limits are the bounds as options of a server.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(greetTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: quietTime, Timeout: answerTime}),
	}
}
