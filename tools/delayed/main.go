//go:build linux

// Command delayed runs etcd with a proxy in front of its client port that delays data from clients:
// a known change for comparisons to find.
//
//	delayed -delay 1ms ETCD ARGS...
//
// The proxy listens where ARGS let etcd listen for clients, and etcd on a free port at the same
// address. With a delay of 0 the proxy stays, so that the delay is the only difference. Peers are
// not delayed. TLS passes through.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code from etcd, or 1 after an error in this program.
func run(args []string) int {
	flags := flag.NewFlagSet("delayed", flag.ContinueOnError)
	delay := flags.Duration("delay", 0, "how long bytes of clients are held back, at least 0")
	err := flags.Parse(args)
	if err == nil && (*delay < 0 || flags.NArg() == 0) {
		err = fmt.Errorf("want a delay of at least 0 and a command, got %v and %q", *delay, flags.Args())
	}
	code := 1
	if err == nil {
		code, err = serve(*delay, flags.Arg(0), flags.Args()[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "delayed:", err)
	}
	return code
}

// serve runs etcd and the proxy until etcd ends.
func serve(delay time.Duration, path string, args []string) (code int, err error) {
	args, front, back, err := moved(args)
	if err != nil {
		return 1, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(context.Background(), "tcp", front)
	if err != nil {
		return 1, err
	}
	defer l.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Signals are sent to the whole group, and this program ends after etcd. A handler is
	// not inherited, as ignoring would be.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM)
	if err := cmd.Start(); err != nil { // by the main thread, which lives as long as the process
		return 1, err
	}
	go proxy(l, back, delay)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			// etcd ends itself by the signal it got, and so does this program.
			signal.Reset()
			_ = syscall.Kill(os.Getpid(), status.Signal())
			select {}
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

const listenFlag = "--listen-client-urls="

// moved returns the arguments with another port for clients, where the proxy listens, and
// where etcd does.
func moved(args []string) (changed []string, front, back string, err error) {
	for _, arg := range args {
		text, found := strings.CutPrefix(arg, listenFlag)
		if found {
			u, err := url.Parse(text)
			if err != nil {
				return nil, "", "", err
			}
			front = u.Host
			if back, err = freePort(u.Hostname()); err != nil {
				return nil, "", "", err
			}
			u.Host = back
			arg = listenFlag + u.String()
		}
		changed = append(changed, arg)
	}
	if front == "" {
		return nil, "", "", fmt.Errorf("the arguments must have %s", listenFlag)
	}
	return changed, front, back, nil
}

// freePort returns an address on which nothing listens.
func freePort(host string) (string, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
