package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// counter is how many leases a member of etcd ended because nobody renewed them.
const counter = "etcd_debugging_server_lease_expired_total"

// expired is what a member of etcd counted last.
type expired struct{ n int64 }

// poll asks a member again and again, while it runs and until ctx ends.
func (e *expired) poll(ctx context.Context, host string) {
	defer http.DefaultClient.CloseIdleConnections()
	for ; ctx.Err() == nil; sleep.For(ctx, 100*time.Millisecond) {
		if n, err := ask(ctx, "http://"+host+":2379/metrics"); err == nil { // else it does not run
			e.n = n
		}
	}
}

// ask asks a member once.
func ask(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return parse(resp.Body)
}

// parse reads the counter in the text format of Prometheus.
func parse(text io.Reader) (int64, error) {
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if series, value, _ := strings.Cut(lines.Text(), " "); series == counter {
			n, err := strconv.ParseFloat(value, 64)
			return int64(n), err
		}
	}
	return 0, fmt.Errorf("the metrics lack %s", counter)
}
