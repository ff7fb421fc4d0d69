package cetcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// answer is the reply to a client whose request has no result.
type answer struct {
	code int
	text string
}

func (a answer) Error() string { return a.text }

// badRequest returns the answer to an invalid request.
func badRequest(format string, args ...any) error {
	return answer{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// The Consul error texts from which clients see whether a write may have been applied. The proxy
// answers with the same texts in the same cases.
const (
	saysNoLeader   = "No cluster leader"                    // surely not applied
	saysLeaderLost = "leadership lost while committing log" // perhaps applied
	saysTimeout    = "rpc error making call: i/o timeout"   // perhaps applied
	saysStreamLost = "rpc error making call: stream closed" // perhaps applied
	saysStopping   = "raft is already shutdown"             // perhaps applied
	saysRate       = "rate limit exceeded, try again later" // surely not applied
	saysNoSpace    = "database space exceeded"              // perhaps applied
	saysTooLarge   = "Request body too large, max size: %d bytes"
)

// answerOf turns an error from etcd into the answer that Consul gives for the same problem. sent is
// false if the request was never handed to a connection: then it cannot have been applied.
func answerOf(err error, sent bool) answer {
	var a answer
	if errors.As(err, &a) {
		return a
	}
	code, says := http.StatusInternalServerError, ""
	switch rpctypes.Error(err) {
	case rpctypes.ErrTooManyRequests:
		code, says = http.StatusTooManyRequests, saysRate
	case rpctypes.ErrNoSpace:
		says = saysNoSpace
	case rpctypes.ErrRequestTooLarge:
		code, says = http.StatusRequestEntityTooLarge, fmt.Sprintf(saysTooLarge, maxValue)
	case rpctypes.ErrNoLeader, rpctypes.ErrUnhealthy:
		says = saysNoLeader
	case rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail:
		says = saysLeaderLost
	case rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex:
		says = saysTimeout
	case rpctypes.ErrStopped:
		says = saysStopping
	default:
		says = statusWords(err, sent)
	}
	if says == "" {
		return answer{code, "etcd: " + err.Error()}
	}
	return answer{code, says + " (etcd: " + err.Error() + ")"}
}

// statusWords interprets errors of the transport, and of the parts of etcd that answer in plain
// gRPC.
func statusWords(err error, sent bool) string {
	s := status.Convert(err)
	switch {
	case s.Code() == codes.Unavailable && !sent, s.Message() == raft.ErrProposalDropped.Error():
		return saysNoLeader
	case s.Code() == codes.Unavailable:
		return saysStreamLost
	case s.Code() == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		return saysTimeout
	case s.Code() == codes.ResourceExhausted && !strings.Contains(s.Message(), "larger than max"):
		return saysStreamLost
	}
	return ""
}

var errMissingKey = answer{http.StatusBadRequest, "Missing key name"}
