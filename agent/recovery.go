package agent

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ServerOptions are the options a server needs for an [Agent]: a panic in a verb is logged with its
// stack and answered as an internal error.
func ServerOptions(log *slog.Logger) []grpc.ServerOption {
	unary := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
		defer recovered(log, info.FullMethod, &err)
		return handle(ctx, req)
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
		defer recovered(log, info.FullMethod, &err)
		return handle(srv, ss)
	}
	return append(limits(), grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(stream))
}

// recovered turns a panic into an internal error. It must be deferred itself.
func recovered(log *slog.Logger, what string, err *error) {
	if p := recover(); p != nil {
		log.Error("panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s panicked: %v", what, p)
	}
}
