package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

// linkFlags define how control and agents authenticate each other. Both commands have them.
type linkFlags struct {
	certs    string
	files    certs.Files
	token    string
	insecure bool
}

// register adds the flags. dir completes the --certs help with the owner of the folder, and
// insecure is the --insecure help.
func (f *linkFlags) register(flags *pflag.FlagSet, dir, insecure string) {
	flags.StringVar(&f.certs, "certs", "", "folder of "+dir+" that dbtester certs made: "+certs.FileCA+", "+certs.FileCert+" and "+certs.FileKey+"; they are read again when they change")
	flags.StringVar(&f.files.CA, "tls-ca", "", "PEM file of the CA, instead of the one in --certs")
	flags.StringVar(&f.files.Cert, "tls-cert", "", "PEM file of the certificate, instead of the one in --certs")
	flags.StringVar(&f.files.Key, "tls-key", "", "PEM file of its key, instead of the one in --certs")
	flags.StringVar(&f.token, "token", "", "file with the secret by which processes of one user recognize each other on loopback addresses without TLS (default: dbtester/token in the user's configuration directory)")
	flags.BoolVar(&f.insecure, "insecure", false, insecure)
}

// pem returns the TLS files. Without any, there is no TLS.
func (f linkFlags) pem() (files certs.Files, given bool) {
	if f.certs != "" {
		files = certs.In(f.certs)
	}
	for _, file := range []struct{ flag, to *string }{{&f.files.CA, &files.CA}, {&f.files.Cert, &files.Cert}, {&f.files.Key, &files.Key}} {
		if *file.flag != "" {
			*file.to = *file.flag
		}
	}
	return files, files != certs.Files{}
}

// open opens the certificates. It returns nil if no files are given, and warns before certificates
// expire.
func (f linkFlags) open(a *app, role certs.Role, log *slog.Logger) (*certs.Source, error) {
	files, given := f.pem()
	if !given {
		return nil, nil
	}
	if f.insecure {
		return nil, usageError{errors.New("--insecure does not use certificates: leave out one of the two")}
	}
	source, err := certs.Open(files, role, log)
	if err != nil {
		return nil, usageError{err}
	}
	if text := source.Info().Warning(time.Now()); text != "" {
		a.warn("certificate %s %s (dbtester certs issue --force)", files.Cert, text)
	}
	return source, nil
}

// warn prints a warning to standard error.
func (s streams) warn(format string, args ...any) {
	fmt.Fprintf(s.err, "dbtester: %s %s\n", looksOf(isTerminal(s.err), os.Getenv).paint(yellow, "warning:"), plaintext.Visible(fmt.Sprintf(format, args...)))
}

// tokenFile returns the file with the user token.
func (f linkFlags) tokenFile() (string, error) {
	if f.token != "" {
		return f.token, nil
	}
	path, err := usertoken.DefaultFile()
	if err != nil {
		return "", fmt.Errorf("find the user's token (name a file with --token): %w", err)
	}
	return path, nil
}

// server returns which callers an agent at listen admits, and the same in words.
func (f linkFlags) server(a *app, listen string, log *slog.Logger) (agentlink.Server, string, error) {
	source, err := f.open(a, certs.RoleAgent, log)
	switch {
	case err != nil:
		return agentlink.Server{}, "", err
	case source != nil:
		i := source.Info()
		return agentlink.Server{Certs: source, Log: log}, fmt.Sprintf("control with a certificate of its CA (TLS as %s until %s)",
			strings.Join(i.Hosts, ", "), i.Until.UTC().Format("2006-01-02 15:04 UTC")), nil
	case f.insecure:
		a.warn("--insecure: anyone who reaches %s can run databases here, and read, stop and change other users' runs", listen)
		return agentlink.Server{Open: true, Log: log}, "anyone who reaches it (--insecure)", nil
	}
	if err := agent.CheckListen(listen, false); err != nil {
		return agentlink.Server{}, "", usageError{err}
	}
	path, err := f.tokenFile()
	if err != nil {
		return agentlink.Server{}, "", err
	}
	token, err := usertoken.Ensure(path)
	if err != nil {
		return agentlink.Server{}, "", fmt.Errorf("%w (--token names another file)", err)
	}
	return agentlink.Server{Token: token, Log: log}, "processes that know the token in " + path, nil
}

// client returns how control authenticates itself and agents. dir is the certificate folder from
// the experiment; flags take precedence.
func (f linkFlags) client(a *app, dir string) (agentlink.Client, error) {
	if _, given := f.pem(); !given && !f.insecure {
		f.certs = dir
	}
	source, err := f.open(a, certs.RoleControl, nil)
	if err != nil {
		return agentlink.Client{}, err
	}
	if f.insecure {
		a.warn("--insecure: agents without TLS or token are called too, and anyone who reaches them can read, stop and change this run")
	}
	return agentlink.Client{Certs: source, Insecure: f.insecure, Token: func() (usertoken.Token, error) {
		path, err := f.tokenFile()
		if err != nil {
			return usertoken.Token{}, err
		}
		return usertoken.Read(path)
	}}, nil
}

// agentPort is the port on which agents listen by default.
const agentPort = "3500"
