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

// floorEtcd puts with upstream's client and does nothing else: no schedule, no
// records. No tool on that client can cost less.
func floorEtcd(args []string) error {
	flags := flag.NewFlagSet("floor-etcd", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "")
	requests := flags.Int64("requests", 0, "")
	clients := flags.Int("clients", 0, "")
	connections := flags.Int("connections", 0, "")
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
			for i := next.Add(1); i <= *requests; i = next.Add(1) {
				if _, err := conns[n%len(conns)].Put(context.Background(), fmt.Sprintf("%0256d", i), value); err != nil {
					failed.Add(1) // a server that is behind refuses some; etcd's tool goes on too
				}
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > *requests/100 {
		return fmt.Errorf("%d of %d puts failed", n, *requests)
	}
	return nil
}
