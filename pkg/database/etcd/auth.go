package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
	"github.com/coreos/dbtester/pkg/sleep"
)

// If authentication is on, every request carries a token, which a member issues for a user and a
// password. Members drop tokens when a user changes, when a token was not used for five minutes,
// and perhaps when they restart. A request with an unknown token was surely not applied, so it is
// sent again with a new one. This is the only request that is sent twice, and its latency includes
// both.
//
// Where a connection uses the members in turn, another member may not know a new token
// yet: etcd waits for one log entry too few before it checks a token. Such a member
// refuses the token until it has applied that entry.
//
// A password check costs a member about 70 ms of CPU time, unless it was started with a lower
// --bcrypt-cost. Every connection requests its own token when it is dialed.

// pathAuthenticate is called without a token.
const pathAuthenticate = pb.Auth_Authenticate_FullMethodName

// checkAuth refuses credentials without user or password.
func checkAuth(auth *database.Auth) error {
	if auth != nil && (auth.User == "" || auth.Password == "") {
		return database.NotApplied(database.ClassDenied, errors.New("etcd needs a user and a password"))
	}
	return nil
}

// stale reports whether a member refused a request only because of its token.
func stale(err error) bool {
	if err == nil {
		return false
	}
	known := rpctypes.Error(err)
	return known == rpctypes.ErrInvalidAuthToken || known == rpctypes.ErrAuthOldRevision
}

// A request with a new token the member does not know yet is retried up to tokenRetries times, at
// intervals of tokenRetryAfter.
const (
	tokenRetries    = 50
	tokenRetryAfter = 10 * time.Millisecond
)

// retryNewToken makes a request with a new token until the member knows the token. It
// returns the last error if ctx ends first.
func retryNewToken(ctx context.Context, request func() error) error {
	err := request()
	for i := 1; i < tokenRetries && stale(err); i++ {
		if !sleep.For(ctx, tokenRetryAfter) {
			return err
		}
		err = request()
	}
	return err
}

// renewed is a value that is made when it is first needed, and again when it is stale.
// It is safe for concurrent use.
type renewed[T any] struct {
	now    atomic.Pointer[T] // nil before the first
	making chan struct{}     // held while it is made
}

func newRenewed[T any]() renewed[T] { return renewed[T]{making: make(chan struct{}, 1)} }

// renew replaces the stale value old, nil before the first, unless another call did.
func (r *renewed[T]) renew(ctx context.Context, old *T, anew func(context.Context) (*T, error)) (*T, error) {
	select {
	case r.making <- struct{}{}:
		defer func() { <-r.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if v := r.now.Load(); v != old {
		return v, nil
	}
	v, err := anew(ctx)
	if err != nil {
		return nil, err
	}
	r.now.Store(v)
	return v, nil
}

// tokens adds a token to calls over a grpc-go connection.
type tokens struct {
	auth database.Auth
	kept renewed[string]
}

func withTokens(auth *database.Auth) []grpc.DialOption {
	t := &tokens{*auth, newRenewed[string]()}
	return []grpc.DialOption{grpc.WithUnaryInterceptor(t.intercept), grpc.WithStreamInterceptor(t.stream)}
}

// stream opens a stream with a token, which is not renewed while it lasts.
func (t *tokens) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	token := t.kept.now.Load()
	if token == nil {
		var err error
		if token, err = t.renew(ctx, cc, nil); err != nil {
			return nil, err
		}
	}
	return open(metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, *token), desc, cc, method, opts...)
}

func (t *tokens) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) (err error) {
	if method == pathAuthenticate {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	token := t.kept.now.Load()
	try := func() error {
		return invoke(metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, *token), method, req, reply, cc, opts...)
	}
	if token != nil {
		if err = try(); !stale(err) {
			return err
		}
	}
	if token, err = t.renew(ctx, cc, token); err != nil {
		return err
	}
	return retryNewToken(ctx, try)
}

func (t *tokens) renew(ctx context.Context, cc *grpc.ClientConn, old *string) (*string, error) {
	return t.kept.renew(ctx, old, func(ctx context.Context) (*string, error) {
		token, err := tokenOf(cc, &t.auth)(ctx)
		if err != nil {
			return nil, err
		}
		return &token, nil
	})
}

// tokenOf returns a function that requests a new token, nil without credentials.
func tokenOf(conn *grpc.ClientConn, auth *database.Auth) func(context.Context) (string, error) {
	if auth == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		resp, err := pb.NewAuthClient(conn).Authenticate(ctx, &pb.AuthenticateRequest{Name: auth.User, Password: auth.Password})
		if err != nil {
			return "", err
		}
		return resp.Token, nil
	}
}

// leanTokens adds a token to lean calls. All calls by a [unary.Client] have the same token, so a
// new token needs a new client.
type leanTokens struct {
	auth   database.Auth
	config unary.Config // without a token
	kept   renewed[unary.Client]
	// before is the last client, which may still have running calls. The holder of
	// kept.making owns it.
	before *unary.Client
}

func newLeanTokens(auth *database.Auth, config unary.Config) *leanTokens {
	return &leanTokens{auth: *auth, config: config, kept: newRenewed[unary.Client]()}
}

// Call adds a token to a call and renews it when it is stale; see [unary.Client.Call].
func (t *leanTokens) Call(ctx context.Context, path string, m *unary.Message, read func([]byte) (bool, error)) (unsent bool, err error) {
	calls := t.kept.now.Load()
	if calls != nil {
		if unsent, err = calls.Call(ctx, path, m, read); !stale(err) {
			return unsent, err
		}
	}
	if calls, err = t.renew(ctx, calls); err != nil {
		return true, err
	}
	err = retryNewToken(ctx, func() (err error) {
		unsent, err = calls.Call(ctx, path, m, read)
		return err
	})
	return unsent, err
}

func (t *leanTokens) renew(ctx context.Context, old *unary.Client) (*unary.Client, error) {
	return t.kept.renew(ctx, old, func(ctx context.Context) (*unary.Client, error) {
		asks := old
		if asks == nil {
			asks = unary.New(t.config)
			defer asks.Close()
		}
		var resp pb.AuthenticateResponse
		_, err := asks.Call(ctx, pathAuthenticate, &unary.Message{One: []byte(t.auth.User), Two: []byte(t.auth.Password)},
			func(reply []byte) (keep bool, err error) { return false, proto.Unmarshal(reply, &resp) })
		if err != nil {
			return nil, err
		}
		if t.before != nil {
			t.before.Close() // unused since the previous token
		}
		t.before = old
		config := t.config
		config.Metadata = []http2.Field{{Name: rpctypes.TokenFieldNameGRPC, Value: resp.Token}}
		return unary.New(config), nil
	})
}

// Close closes the connections, after the last call.
func (t *leanTokens) Close() {
	for _, calls := range []*unary.Client{t.kept.now.Load(), t.before} {
		if calls != nil {
			calls.Close()
		}
	}
}
