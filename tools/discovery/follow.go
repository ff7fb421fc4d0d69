package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// below is where instance keys are.
const below = "sessions/"

// followEtcd watches the keys with clientv3, from the first revision on.
func followEtcd(ctx context.Context, address string, saw *sight) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Context: ctx, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for answer := range client.Watch(clientv3.WithRequireLeader(ctx), below, clientv3.WithPrefix(), clientv3.WithRev(1)) {
		at := time.Now()
		if err := answer.Err(); err != nil {
			return err
		}
		for _, event := range answer.Events {
			if event.Type == clientv3.EventTypeDelete {
				saw.ended(strings.TrimPrefix(string(event.Kv.Key), below), at)
			}
		}
	}
	return errors.New("the watch ended")
}

// quiet discards the log from a client library.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// followZooKeeper lists the keys with go-zookeeper, and again whenever a watch on them fires.
func followZooKeeper(ctx context.Context, address string, saw *sight) error {
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, conn.Close)() // which ends a call
	defer conn.Close()
	for {
		keys, _, changed, err := conn.ChildrenW("/" + strings.TrimSuffix(below, "/"))
		at := time.Now()
		switch {
		case errors.Is(err, zk.ErrNoNode) && pause(ctx): // before the run made it
			continue
		case err != nil:
			return err
		}
		saw.list(keys, at)
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followConsul lists the keys with blocking queries by the Consul client.
func followConsul(ctx context.Context, address string, saw *sight) error {
	return blocking(ctx, address, below, saw, func(client *api.Client, o *api.QueryOptions) ([]string, *api.QueryMeta, error) {
		return client.KV().Keys(below, "", o)
	})
}

// service names the Consul service that instances without keys register with.
const service = "dbtester-sessions"

// followServices lists the instances of the service whose checks pass, in the same way.
func followServices(ctx context.Context, address string, saw *sight) error {
	return blocking(ctx, address, service+"-", saw, func(client *api.Client, o *api.QueryOptions) (ids []string, meta *api.QueryMeta, err error) {
		entries, meta, err := client.Health().Service(service, "", true, o)
		for _, entry := range entries {
			ids = append(ids, entry.Service.ID)
		}
		return ids, meta, err
	})
}

// blocking repeats a blocking query for names that begin with begin.
func blocking(ctx context.Context, address, begin string, saw *sight, query func(*api.Client, *api.QueryOptions) ([]string, *api.QueryMeta, error)) error {
	client, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		return err
	}
	for index := uint64(0); ; {
		names, meta, err := query(client, (&api.QueryOptions{WaitIndex: index}).WithContext(ctx))
		at := time.Now()
		if err != nil {
			return err
		}
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, begin)
		}
		saw.list(names, at)
		index = max(meta.LastIndex, 1)
	}
}
