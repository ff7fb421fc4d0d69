package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// floorEtcd puts with upstream's client, or renews a lease for each client, and does nothing else:
// no schedule, no records. No tool on that client can cost less.
func floorEtcd(args []string) error {
	flags := flag.NewFlagSet("floor-etcd", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "")
	requests := flags.Int64("requests", 0, "")
	clients := flags.Int("clients", 0, "")
	connections := flags.Int("connections", 0, "")
	keepalive := flags.Bool("keepalive", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	members := strings.Split(*endpoints, ",")
	conns := make([]*clientv3.Client, *connections)
	for i := range conns {
		c, err := clientv3.New(clientv3.Config{Endpoints: members[i%len(members) : i%len(members)+1], DialTimeout: 10 * time.Second})
		if err != nil {
			return err
		}
		defer c.Close()
		conns[i] = c
	}
	value := strings.Repeat("v", 1024)
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Int64
	for n := range *clients {
		wg.Go(func() {
			c := conns[n%len(conns)]
			do := func(i int64) error {
				_, err := c.Put(context.Background(), fmt.Sprintf("%0256d", i), value)
				return err
			}
			if *keepalive {
				do = renewal(c)
			}
			for i := next.Add(1); i <= *requests; i = next.Add(1) {
				if do(i) != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return tooManyFailed(failed.Load(), *requests)
}

// mostFailed is the share of requests that may fail: a server that is behind refuses some, and
// etcd's tool goes on too.
const mostFailed = 0.05

func tooManyFailed(failed, requests int64) error {
	if float64(failed) > mostFailed*float64(requests) {
		return fmt.Errorf("%d of %d requests failed", failed, requests)
	}
	return nil
}

// renewal grants a lease, as etcd's tool does for each client, and returns the function that renews it.
func renewal(c *clientv3.Client) func(int64) error {
	granted, err := c.Grant(context.Background(), 100)
	return func(int64) error {
		if err != nil {
			return err
		}
		_, err := c.KeepAliveOnce(context.Background(), granted.ID)
		return err
	}
}
