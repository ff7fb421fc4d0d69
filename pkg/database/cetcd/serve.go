package cetcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/coreos/dbtester/pkg/database/etcd"
)

// flags are the arguments of the built-in proxy.
type flags struct {
	etcd     string // URL
	addr     string // host:port
	endpoint string // host:port of etcd
	tls      *tls.Config
}

// Serve runs the built-in proxy until ctx ends; args come from its plan. The etcd behind it is a
// separate command.
func (o *Options) Serve(ctx context.Context, args []string) error {
	f, err := parseFlags(args)
	if err != nil {
		return fmt.Errorf("read cetcd flags: %w", err)
	}
	store, err := newStore(f.endpoint, f.tls)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return errors.Join(fmt.Errorf("serve cetcd: %w", err), store.close())
	}
	if f.tls != nil {
		listener = tls.NewListener(listener, f.tls)
	}
	logger := log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	logger.Printf("serving Consul's key-value interface on %s from etcd at %s", f.addr, f.endpoint)
	return errors.Join(serve(ctx, listener, store, logger), store.close())
}

// stopWithin bounds the time for running requests when the proxy is stopped.
const stopWithin = 5 * time.Second

// serve answers requests until ctx ends, and then finishes the running ones.
func serve(ctx context.Context, listener net.Listener, store *store, logger *log.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proxy{store: store, stopping: ctx}
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: logger}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.followLeader(ctx)
	}()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		if server.Shutdown(stop) != nil {
			err = server.Close() // only client connections are left
		}
		done()
		<-served
	case err = <-served:
		err = fmt.Errorf("serve cetcd: %w", err)
	}
	cancel()
	<-followed
	return err
}

func parseFlags(args []string) (flags, error) {
	var f flags
	var ca, cert, key string
	fs := flag.NewFlagSet(Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.etcd, "etcd", "", "")
	fs.StringVar(&f.addr, "consuladdr", "", "")
	fs.StringVar(&ca, "ca", "", "")
	fs.StringVar(&cert, "cert", "", "")
	fs.StringVar(&key, "key", "", "")
	if err := fs.Parse(args); err != nil {
		return f, err
	}
	endpoint, err := url.Parse(f.etcd)
	switch {
	case fs.NArg() > 0:
		return f, fmt.Errorf("argument %q is not a flag", fs.Arg(0))
	case err != nil:
		return f, err
	case endpoint.Host == "" || f.addr == "":
		return f, fmt.Errorf("-%s URL and -consuladdr HOST:PORT are needed", etcd.Name)
	}
	f.endpoint = endpoint.Host
	if endpoint.Scheme == "https" {
		f.tls, err = tlsConfig(ca, cert, key)
	}
	return f, err
}

// tlsConfig returns a configuration that serves with the member certificate, requires client
// certificates from the same CA, and dials etcd with the member certificate.
func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("read CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read CA: no certificate in %q", ca)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
