package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/fault"
)

// play makes the test binary an agent or a control in its own process, to be killed:
//
//	play agent ADDRESS WORKDIR   until SIGTERM, or until the test that plays it has ended
//	play control FILE POINT LEAD a run that waits at a point, if it is not "", and announces steps to
//	                             generators with a lead
//
// A point is a text reported by the run. The run writes each to standard output. At the point it
// writes "at POINT" and waits for a line on standard input.
func play(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if n, err := strconv.ParseUint(os.Getenv(filesEnv), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	if args[0] == "agent" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // whose other end the test has
			stop()
		}()
		return playAgent(ctx, args[1], args[2])
	}
	lead, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	return playControl(ctx, args[1], args[2], lead)
}

// filesEnv is the number of files that a player may have open, if it is set.
const filesEnv = "DBTESTER_PLAY_FILES"

// diskEnv is the disk for the member of each played agent, if it is set.
const diskEnv = "DBTESTER_PLAY_DISK"

// givenSuffix ends the name of a directory beside the working directory of a played agent: the disk
// given by its user, if it exists.
const givenSuffix = "-disk"

// diskOf returns the disk for a played agent.
func diskOf(workDir string) string {
	if _, err := os.Stat(workDir + givenSuffix); err == nil {
		return workDir + givenSuffix
	}
	return os.Getenv(diskEnv)
}

// played returns the databases that are played: the fake, and etcd.
func played() *database.Registry { return database.NewRegistry(fake.Database(), etcd.Database()) }

// playedLease is the lease on played agents: several heartbeats.
const playedLease = 5 * time.Second

func playAgent(ctx context.Context, addr, workDir string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ag, err := agent.New(agent.Options{
		Registry: played(), WorkDir: workDir, Self: databasetest.Self(), Interface: "lo", Lease: playedLease, Log: log,
		AllowFaults: fault.Possible(), Disk: diskOf(workDir),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer(agent.ServerOptions(log)...)
	ag.Register(server)
	targets, err := generator.ParseTargets([]string{generator.Reserved})
	if err != nil {
		return err
	}
	loads, err := generator.New(generator.Options{
		Registry: played(), Allowed: true, Targets: targets, Lease: playedLease, Interface: "lo", Machine: ag.Machine, Log: log,
	})
	if err != nil {
		return err
	}
	loads.Register(server)
	go func() {
		<-ctx.Done()
		_ = errors.Join(loads.Close(context.Background()), ag.Close(context.Background()))
		server.Stop()
	}()
	fmt.Println("listens")
	return server.Serve(listener)
}

func playControl(ctx context.Context, file, point string, lead time.Duration) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	e, _, err := config.Parse(file, text, played().All())
	if err != nil {
		return err
	}
	waited := false
	report := func(u Update) {
		text := pointOf(u)
		fmt.Println(text)
		if text == point && !waited {
			waited = true
			fmt.Println("at", point)
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
	}
	_, err = Run(ctx, Options{
		Experiment: e, Registry: played(), Connect: dialTCP, ConnectGenerator: dialGeneratorTCP, GeneratorLead: lead, Owner: "player", Interface: "lo", Report: report,
		ReadyTimeout: patience, AllowCommands: true, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	return err
}

func dialTCP(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
	conn, err := plainTCP(addr)
	if err != nil {
		return nil, nil, err
	}
	return pb.NewAgentClient(conn), conn, nil
}

func dialGeneratorTCP(_ context.Context, addr string) (pb.GeneratorClient, io.Closer, error) {
	conn, err := plainTCP(addr)
	if err != nil {
		return nil, nil, err
	}
	return pb.NewGeneratorClient(conn), conn, nil
}

func plainTCP(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// pointOf returns u as a point in a run.
func pointOf(u Update) string {
	switch {
	case u.Load != nil:
		return "loading"
	case u.Folder != "":
		return "records open"
	default:
		return u.Text
	}
}

// points returns the points of a run in order: the texts reported by a whole run, each once,
// without those that only this run could make.
func points(reported []string, steps []step) (list []string) {
	for _, text := range reported {
		fixed := slices.ContainsFunc(steps, func(s step) bool { return s.name == text }) ||
			slices.Contains([]string{"records open", "loading", "stop members", "collect measurements"}, text)
		if fixed && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
