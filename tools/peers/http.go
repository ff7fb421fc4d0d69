package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// compareHTTP compares the cost of a GET through the Consul HTTP interface to the client with the
// cost to wrk. A static server pinned to one processor answers: a database would need that
// processor for itself.
func compareHTTP(ctx context.Context, o options, out io.Writer) error {
	o.load = load{requests: 1_000_000, clients: 64}
	return o.workIn(10, func(o options) (err error) {
		before := busy()
		server, err := startStatic(o.dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		rows, err := httpRows(ctx, o, server)
		if err != nil {
			return err
		}
		if err := alternate(ctx, o, rows, nil); err != nil {
			return err
		}
		fmt.Fprintf(out, "GETs of one key of 5 bytes with a value of 36 bytes by %d clients on a connection each; %s on loopback, pinned to one processor, serves the value from a file.\n",
			o.clients, server.version)
		fmt.Fprintf(out, "%d runs of each, in turn; medians. %s; %s.\n\n", o.pairs, toolVersion("wrk", "-v"), o.conditions(before))
		fmt.Fprintf(out, "On all processors, which the server shares:\n\n")
		printTable(out, "get", rows[:oneThread])
		fmt.Fprintf(out, "\nOn one thread, which GOMAXPROCS=1 comes close to:\n\n")
		printTable(out, "get", rows[oneThread:])
		return nil
	})
}

// oneThread is the first row with one thread.
const oneThread = 3

// httpRows returns the programs that get, each on all processors and on one. A dbtester run has put
// the value where the server finds it.
func httpRows(ctx context.Context, o options, s *static) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	rows := []row{
		{name: fmt.Sprintf("wrk -t%d", runtime.NumCPU())},
		{name: "dbtester, lean"},
		{name: "http.ReadResponse loop"},
		{name: "wrk -t1"},
		{name: "dbtester, lean, GOMAXPROCS=1"},
		{name: "http.ReadResponse loop, GOMAXPROCS=1"},
	}
	// The standard transport reads JSON, which no file is.
	config := filepath.Join(o.dir, "lean.yaml")
	if err := os.WriteFile(config, []byte(httpExperiment(o, "lean")), 0o644); err != nil {
		return nil, err
	}
	rows[1].argv = []string{o.dbtester, "control", "--full-speed", "--config", config}
	if _, _, err := measure(ctx, o.dir, rows[1].argv); err != nil {
		return nil, err
	}
	url := "http://" + staticAddr + s.path() + "?raw"
	for i, threads := range map[int]int{0: runtime.NumCPU(), oneThread: 1} {
		rows[i].argv = []string{"wrk", fmt.Sprintf("-t%d", threads), fmt.Sprintf("-c%d", o.clients), "-d10s", url}
		rows[i].count = wrkRequests
	}
	rows[2].argv = []string{self, "floor-http", "-url", url, "-requests", fmt.Sprint(o.requests), "-clients", fmt.Sprint(o.clients)}
	for i := 1; i < oneThread; i++ {
		rows[oneThread+i].argv = append([]string{"env", "GOMAXPROCS=1"}, rows[i].argv...)
	}
	return rows, nil
}

// wrkRequests reads the number of requests that wrk made. Errors make a run worthless.
func wrkRequests(output string) (int, error) {
	found := regexp.MustCompile(`(\d+) requests in`).FindStringSubmatch(output)
	if found == nil || strings.Contains(output, "Socket errors") || strings.Contains(output, "Non-2xx") {
		return 0, fmt.Errorf("not a clean run:\n%s", output)
	}
	return strconv.Atoi(found[1])
}

func httpExperiment(o options, transport string) string {
	return fmt.Sprintf(`title: peers
results: %s
load: {operation: read, same_key: true, requests: %d, clients: %d, connections: %d, key_size: 5, value_size: 36}
consistency: false
databases:
  consul:
    endpoints: [%s]
    prefix: peers
    steps: {start: false, stop: false}
    options: {transport: %s}
`, filepath.Join(o.dir, "results"), o.requests, o.clients, o.clients, staticAddr, transport)
}

// floorHTTP gets with the parser in net/http and nothing else: no transport, no schedule, no
// records.
func floorHTTP(args []string) error {
	flags := flag.NewFlagSet("floor-http", flag.ContinueOnError)
	url := flags.String("url", "", "")
	requests := flags.Int64("requests", 0, "")
	clients := flags.Int("clients", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodGet, *url, nil)
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", req.URL.RequestURI(), req.Host)
	var next atomic.Int64
	errs := make([]error, *clients)
	var wg sync.WaitGroup
	for n := range *clients {
		wg.Go(func() { errs[n] = getLoop(req, head, &next, *requests) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func getLoop(req *http.Request, head []byte, next *atomic.Int64, requests int64) error {
	conn, err := net.Dial("tcp", req.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for next.Add(1) <= requests {
		if _, err := conn.Write(head); err != nil {
			return err
		}
		res, err := http.ReadResponse(in, req)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
	}
	return nil
}
