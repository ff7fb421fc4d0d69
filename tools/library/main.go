// Command library puts with the ZooKeeper or Consul client that programs use, and does nothing
// else: no records, no deadlines. No tool on that client can cost less. tools/peers compares
// dbtester with it:
//
//	library zookeeper -endpoints 127.0.0.1:2181 -requests 10000 -clients 100 -rate 1000
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "library:", err)
		os.Exit(1)
	}
}

// put writes a key on its own connection.
type put func(key string, value []byte) error

// dialers returns functions that connect to one database member. They return a function that puts,
// and one that closes the connection.
func dialers() map[string]func(endpoint string) (put, func(), error) {
	return map[string]func(string) (put, func(), error){"zookeeper": dialZooKeeper, "consul": dialConsul}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name zookeeper or consul")
	}
	dial, ok := dialers()[args[0]]
	if !ok {
		return fmt.Errorf("the database must be zookeeper or consul, got %q", args[0])
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "addresses of the members, with commas")
	requests := flags.Int64("requests", 0, "puts of all clients")
	clients := flags.Int("clients", 1, "concurrent clients, each with a connection to one member")
	rate := flags.Float64("rate", 0, "puts a second; 0 is a closed loop")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	puts := make([]put, *clients)
	members := strings.Split(*endpoints, ",")
	for i := range puts {
		p, closed, err := dial(members[i%len(members)])
		if err != nil {
			return fmt.Errorf("connect client %d: %w", i, err)
		}
		defer closed()
		puts[i] = p
	}
	failed, err := load(puts, *requests, *rate)
	if failed > *requests/100 {
		return fmt.Errorf("%d of %d puts failed: %w", failed, *requests, err)
	}
	return nil
}

// load makes the requests and returns the number that failed, and one of their errors.
func load(puts []put, requests int64, rate float64) (int64, error) {
	value := []byte(strings.Repeat("v", 1024))
	var next, failed atomic.Int64
	var last atomic.Pointer[error]
	var clients sync.WaitGroup
	began := time.Now()
	for _, p := range puts {
		clients.Go(func() {
			for i := next.Add(1); i <= requests; i = next.Add(1) {
				if rate > 0 {
					time.Sleep(time.Until(began.Add(time.Duration(float64(i-1) / rate * float64(time.Second)))))
				}
				if err := p(fmt.Sprintf("%0256d", i), value); err != nil {
					failed.Add(1)
					last.Store(&err)
				}
			}
		})
	}
	clients.Wait()
	if err := last.Load(); err != nil {
		return failed.Load(), *err
	}
	return 0, nil
}

// parent is the znode above all keys.
const parent = "/library"

// quiet discards the log from the ZooKeeper client.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func dialZooKeeper(endpoint string) (put, func(), error) {
	conn, events, err := zk.Connect([]string{endpoint}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		return nil, nil, err
	}
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	everybody := zk.WorldACL(zk.PermAll)
	if _, err := conn.Create(parent, nil, 0, everybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		conn.Close()
		return nil, nil, err
	}
	return func(key string, value []byte) error {
		_, err := conn.Create(parent+"/"+key, value, 0, everybody)
		return err
	}, conn.Close, nil
}

func dialConsul(endpoint string) (put, func(), error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client, err := api.NewClient(&api.Config{Address: endpoint, Transport: transport})
	if err != nil {
		return nil, nil, err
	}
	kv := client.KV()
	return func(key string, value []byte) error {
		_, err := kv.Put(&api.KVPair{Key: "library/" + key, Value: value}, nil)
		return err
	}, transport.CloseIdleConnections, nil
}
