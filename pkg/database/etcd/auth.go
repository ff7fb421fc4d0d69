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
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
)

// A member wants a token with every request, which it gives for a user and a
// password. It forgets tokens when a user changes, when nobody showed one for five
// minutes, and perhaps when it restarts. A request with a token that it does not
// know was surely not applied, so it is sent again with a new one: the only request
// that is ever sent twice, and the time of both counts as its own.
//
// A new token can be new to a member too, where a connection takes the members in
// turn: etcd means to wait for what the giver had applied, and waits for one entry
// too few. One that is behind refuses the token until it has that entry.
//
// To check a password a member spends some 70 ms of its processor, unless it was
// started with a lower --bcrypt-cost. Every connection asks for a token of its own,
// when it is dialed.

// pathAuthenticate is called without a token.
const pathAuthenticate = pb.Auth_Authenticate_FullMethodName

// checkAuth refuses what can be nobody's credentials.
func checkAuth(auth *database.Auth) error {
	if auth != nil && (auth.User == "" || auth.Password == "") {
		return database.NotApplied(database.ClassDenied, errors.New("etcd wants a user and a password"))
	}
	return nil
}

// stale says whether a member refused a request for its token alone.
func stale(err error) bool {
	if err == nil {
		return false
	}
	known := rpctypes.Error(err)
	return known == rpctypes.ErrInvalidAuthToken || known == rpctypes.ErrAuthOldRevision
}

// A new token is shown again to a member that does not know it, so many times, each
// this long after the one before.
const (
	introductions = 50
	introduceIn   = 10 * time.Millisecond
)

// introduce makes a request with a new token until the member knows the token. It
// returns the last error when ctx ends before.
func introduce(ctx context.Context, request func() error) error {
	err := request()
	for i := 1; i < introductions && stale(err); i++ {
		select {
		case <-time.After(introduceIn):
		case <-ctx.Done():
			return err
		}
		err = request()
	}
	return err
}

// renewed is something that is made when it is first needed, and again when it has
// become stale. It is safe for concurrent use.
type renewed[T any] struct {
	now    atomic.Pointer[T] // nil before the first
	making chan struct{}     // held by the one who makes it
}

func newRenewed[T any]() renewed[T] { return renewed[T]{making: make(chan struct{}, 1)} }

// renew replaces what was found stale, nil before the first, unless somebody did.
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

// tokens makes the calls on a connection of gRPC show a token.
type tokens struct {
	auth database.Auth
	kept renewed[string]
}

func showTokens(auth *database.Auth) grpc.DialOption {
	return grpc.WithUnaryInterceptor((&tokens{*auth, newRenewed[string]()}).intercept)
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
	return introduce(ctx, try)
}

func (t *tokens) renew(ctx context.Context, cc *grpc.ClientConn, old *string) (*string, error) {
	return t.kept.renew(ctx, old, func(ctx context.Context) (*string, error) {
		resp, err := pb.NewAuthClient(cc).Authenticate(ctx, &pb.AuthenticateRequest{Name: t.auth.User, Password: t.auth.Password})
		if err != nil {
			return nil, err
		}
		return &resp.Token, nil
	})
}

// leanTokens makes lean calls show a token. A token goes with all calls of a
// [unary.Client], so there is a new one with a new token.
type leanTokens struct {
	auth   database.Auth
	config unary.Config // without a token
	kept   renewed[unary.Client]
	// before is the last client, calls of which may be under way still. It belongs to
	// whoever renews.
	before *unary.Client
}

func newLeanTokens(auth *database.Auth, config unary.Config) *leanTokens {
	return &leanTokens{auth: *auth, config: config, kept: newRenewed[unary.Client]()}
}

// Call is that of [unary.Client].
func (t *leanTokens) Call(ctx context.Context, path string, m unary.Message, read func([]byte) (bool, error)) (unsent bool, err error) {
	calls := t.kept.now.Load()
	if calls != nil {
		if unsent, err = calls.Call(ctx, path, m, read); !stale(err) {
			return unsent, err
		}
	}
	if calls, err = t.renew(ctx, calls); err != nil {
		return true, err
	}
	err = introduce(ctx, func() (err error) {
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
		_, err := asks.Call(ctx, pathAuthenticate, unary.Message{One: []byte(t.auth.User), Two: []byte(t.auth.Password)},
			func(reply []byte) (keep bool, err error) { return false, proto.Unmarshal(reply, &resp) })
		if err != nil {
			return nil, err
		}
		if t.before != nil {
			t.before.Close() // it was not used for the life of a token
		}
		t.before = old
		config := t.config
		config.Metadata = []unary.Field{{Name: rpctypes.TokenFieldNameGRPC, Value: resp.Token}}
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
