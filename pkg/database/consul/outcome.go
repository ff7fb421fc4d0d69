package consul

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// classify classifies the error of a request, nil for nil. The error text has no URL, because a URL
// contains the key.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var status api.StatusError
	if errors.As(err, &status) {
		class, refused := classOfStatus(status)
		if refused {
			return database.NotApplied(class, err)
		}
		if end := exchange.Ended(ctx); end != nil && class == database.ClassOther && hasEnd(status.Body) {
			class = classOfEnd(end)
		}
		return database.MaybeApplied(class, err)
	}
	var request *url.Error
	isRequest := errors.As(err, &request)
	if isRequest {
		err = request.Err
	}
	var op *net.OpError
	var network net.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		if exchange.Ended(ctx) != nil {
			return before(ctx)
		}
		return database.NotApplied(database.ClassUnavailable, err)
	case errors.Is(err, errFalse):
		return database.NotApplied(database.ClassConflict, err)
	case errors.Is(err, context.Canceled), errors.Is(ctx.Err(), context.Canceled):
		return database.MaybeApplied(database.ClassCancelled, err)
	case errors.Is(err, context.DeadlineExceeded), exchange.Ended(ctx) != nil:
		return database.MaybeApplied(database.ClassTimeout, err)
	case isRequest, errors.Is(err, errMalformed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return database.MaybeApplied(database.ClassConnection, err)
	}
	return database.MaybeApplied(database.ClassOther, err)
}

// before returns the classified error for a context that ended before a request was sent.
func before(ctx context.Context) error {
	if err := exchange.Ended(ctx); err != nil {
		return database.NotApplied(classOfEnd(err), err)
	}
	return nil
}

// classOfEnd returns the class of an error that [exchange.Ended] returned.
func classOfEnd(err error) database.Class {
	if errors.Is(err, context.DeadlineExceeded) {
		return database.ClassTimeout
	}
	return database.ClassCancelled
}

// hasEnd reports whether an answer is the error of a canceled request. A client that hangs up at
// its deadline cancels the proxy request, and the proxy answers with that error.
func hasEnd(body string) bool {
	return strings.Contains(body, context.Canceled.Error()) || strings.Contains(body, context.DeadlineExceeded.Error())
}

// classOfStatus returns the class of an answer other than 200, and whether the server refused the
// request and therefore did not apply it.
func classOfStatus(s api.StatusError) (class database.Class, refused bool) {
	switch s.Code {
	case http.StatusTooManyRequests:
		// From the limits in Consul, before it reads a request.
		return database.ClassThrottled, true
	case http.StatusRequestEntityTooLarge:
		return database.ClassTooLarge, true
	case http.StatusUnauthorized, http.StatusForbidden:
		return database.ClassDenied, true
	}
	if s.Code < http.StatusMultipleChoices {
		return database.ClassOther, false // success, but not with the 200 that Consul sends
	}
	if s.Code < http.StatusInternalServerError {
		return database.ClassOther, true
	}
	switch s.Code {
	case http.StatusServiceUnavailable:
		// The limits in Consul have this text. Any other text is from something between the client
		// and Consul.
		class = database.ClassUnavailable
	case http.StatusGatewayTimeout:
		class = database.ClassTimeout
	default:
		class = database.ClassOther
	}
	for _, r := range reasons() {
		if strings.Contains(s.Body, r.text) {
			return r.class, r.refused
		}
	}
	return class, false
}

// reason is a text in Consul answers with status 500. Only the text shows whether a write may have
// been applied.
type reason struct {
	text    string
	class   database.Class
	refused bool
}

// reasons lists the texts of Consul, of its raft and of its connections between members. The first
// text that occurs decides.
func reasons() []reason {
	return []reason{
		{"No cluster leader", database.ClassUnavailable, true},
		{"Raft leader not found in server lookup mapping", database.ClassUnavailable, true},
		{"Not ready to serve consistent reads", database.ClassUnavailable, true},
		{"No known Consul servers", database.ClassUnavailable, true},
		// A limit or a token check, at the agent or at the leader it queried.
		{"rate limit exceeded", database.ClassThrottled, true},
		{"Permission denied", database.ClassDenied, true},
		{"ACL not found", database.ClassDenied, true},
		// Raft returns these before it appends an entry.
		{"node is not the leader", database.ClassLeaderChange, true},
		{"leadership transfer in progress", database.ClassLeaderChange, true},
		{"timed out enqueuing operation", database.ClassThrottled, true},
		// The entry may be in a member's log.
		{"leadership lost while committing log", database.ClassLeaderChange, false},
		{"raft is already shutdown", database.ClassUnavailable, false},
		// No connection to the leader, so nothing was forwarded to it; for a connection that broke
		// later the text begins with "rpc error making call".
		{"rpc error getting client", database.ClassUnavailable, true},
		// From a proxy whose store has a quota.
		{"database space exceeded", database.ClassSpaceExceeded, false},
		{"i/o deadline reached", database.ClassTimeout, false},
		{"i/o timeout", database.ClassTimeout, false},
		{"deadline exceeded", database.ClassTimeout, false},
		{"EOF", database.ClassConnection, false},
		{"connection reset", database.ClassConnection, false},
		{"broken pipe", database.ClassConnection, false},
		{"stream closed", database.ClassConnection, false},
		{"session shutdown", database.ClassConnection, false},
		{"stream reset", database.ClassConnection, false},
	}
}

// conflict returns the classified error for a swap that was not made.
func conflict(why string) error {
	return database.NotApplied(database.ClassConflict, fmt.Errorf("%s", why))
}
