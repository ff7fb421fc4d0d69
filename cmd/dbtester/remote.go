package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/dbtesterpb"
)

// answerTimeout is how long an agent may take to answer for the first time.
const answerTimeout = 5 * time.Second

// remoteAgents dials agents over TCP and hears each of them once. Without TLS it
// does so only on loopback addresses, unless that is meant.
func remoteAgents(plain bool) func(context.Context, string) (dbtesterpb.AgentClient, io.Closer, error) {
	return func(ctx context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
		if err := agent.CheckListen(addr, plain); err != nil {
			return nil, nil, usageError{errors.New("it is on another machine and would be talked to without TLS: say --insecure if that is meant")}
		}
		// Machines of one cluster see each other: a proxy is for what is outside.
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
		if err != nil {
			return nil, nil, err
		}
		client := dbtesterpb.NewAgentClient(conn)
		if err := hear(ctx, client); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
		return client, conn, nil
	}
}

// hear finds out whether an agent is there at all.
func hear(ctx context.Context, client dbtesterpb.AgentClient) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := client.Status(ctx, &dbtesterpb.StatusRequest{}); err != nil {
		why := status.Convert(err).Message()
		if _, dialing, found := strings.Cut(why, "transport: Error while dialing: "); found {
			why = strings.TrimSuffix(dialing, `"`)
		}
		return fmt.Errorf("no agent answers (%s): run \"dbtester agent\" on every database machine, or say --local to have all members here", why)
	}
	return nil
}
