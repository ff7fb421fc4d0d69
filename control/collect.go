package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
)

// collect brings one agent's files home, each under the member's number.
func (c *conductor) collect(ctx context.Context, a *agentSession) error {
	files, err := a.files(ctx)
	if err != nil {
		return fmt.Errorf("list files of member %d: %w", a.index+1, err)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return fmt.Errorf("open tag folder: %w", err)
	}
	defer root.Close()
	var errs []error
	for i, f := range files {
		name := homeName(a.index+1, f.Name)
		if name == "" {
			continue
		}
		if err := fetch(ctx, a, int32(i), root, name); err != nil {
			errs = append(errs, fmt.Errorf("collect %s of member %d: %w", f.Name, a.index+1, err))
			continue
		}
		c.run.Members[a.index].Files = append(c.run.Members[a.index].Files, name)
	}
	return errors.Join(errs...)
}

// files lists what the agent has for this run.
func (a *agentSession) files(ctx context.Context) ([]*dbtesterpb.FileInfo, error) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	reply, err := a.client.Status(ctx, &dbtesterpb.StatusRequest{})
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	if owner := reply.Owner.GetRunId(); owner != a.runID && len(reply.Files) > 0 {
		return nil, fmt.Errorf("agent %s belongs to %s by now", a.addr, reply.Owner.GetName())
	}
	return reply.Files, nil
}

// homeName is where a file of member n goes: "logs/etcd.log" to "logs/1-etcd.log".
// Names that would leave the folder are refused by the root it is written
// through; session files stay with the agent.
func homeName(n int, name string) string {
	dir, base := path.Split(name)
	if dir == "" && !strings.HasSuffix(base, ".csv") {
		return ""
	}
	return path.Join(dir, fmt.Sprintf("%d-%s", n, base))
}

// fetch streams one file to NAME.part, verifies its checksum and renames it. What
// did not come whole is removed.
func fetch(ctx context.Context, a *agentSession, index int32, root *os.Root, name string) (err error) {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	part := name + ".part"
	out, err := root.Create(part)
	if err != nil {
		return err
	}
	sum := sha256.New()
	want, err := a.receive(ctx, index, io.MultiWriter(out, sum))
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil && !bytes.Equal(want, sum.Sum(nil)) {
		err = errors.New("the checksum of what came is not the agent's")
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return root.Rename(part, name)
}

// receive writes a file of the agent to w, piece by piece, and returns the
// checksum that came last.
func (a *agentSession) receive(ctx context.Context, index int32, w io.Writer) (sum []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("nothing came for %v", stallTimeout)) })
	defer stall.Stop()
	stream, err := a.client.Collect(ctx, &dbtesterpb.CollectRequest{RunId: a.runID, Index: index})
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	for {
		chunk, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return sum, nil
		case err != nil:
			return nil, a.failed(ctx, err)
		}
		stall.Reset(stallTimeout)
		if len(chunk.Sha256) > 0 {
			sum = chunk.Sha256
		}
		if _, err := w.Write(chunk.Data); err != nil {
			return nil, err
		}
	}
}
